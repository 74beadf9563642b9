//! Cycles between the modules of a crate. At every level of the module tree a module with all that is below it counts
//! as one, so a file and its own children may name each other.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree};

use super::tree::{File, check};

type Path = Vec<String>;

/// Most re-exports that are followed from one name to the module that has it.
const MOST_EXPORTS: usize = 8;

#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Names brought in by `use`, by which others may reach what lies elsewhere.
    imported: BTreeMap<String, Path>,
    /// Paths in the product code.
    used: Vec<Path>,
}

/// Collects the paths of one file.
struct Collector(Module);

impl Collector {
    fn add_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_use(&with(&path.ident), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(before, tree)),
            UseTree::Glob(_) => self.0.used.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => self.add_import(before.to_vec(), before.last()),
            UseTree::Name(name) => self.add_import(with(&name.ident), Some(&name.ident.to_string())),
            UseTree::Rename(name) => self.add_import(with(&name.ident), Some(&name.rename.to_string())),
        }
    }

    fn add_import(&mut self, path: Path, name: Option<&String>) {
        self.0.imported.extend(name.map(|name| (name.clone(), path.clone())));
        self.0.used.push(path);
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.path().is_ident("cfg").then(|| attribute.parse_args::<syn::Meta>().ok()).flatten();
        match condition {
            Some(syn::Meta::Path(flag)) => flag.is_ident("test"),
            Some(syn::Meta::NameValue(syn::MetaNameValue { path, value: syn::Expr::Lit(value), .. })) => {
                path.is_ident("feature") && matches!(&value.lit, syn::Lit::Str(name) if name.value() == "faults")
            }
            _ => false,
        }
    })
}

/// Reads a module and those below it, if the file is there.
fn read(files: &BTreeMap<&str, &str>, file: &str, folder: &str, path: &[String], all: &mut BTreeMap<Path, Module>) {
    let Some(text) = files.get(file) else { return };
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut collector = Collector(Module::default());
    collector.visit_file(&parsed);
    let mut module = collector.0;
    for item in &parsed.items {
        let Item::Mod(item) = item else { continue };
        if item.content.is_none() && !is_for_tests(&item.attrs) {
            let name = item.ident.to_string();
            let (child, below) = ([path, std::slice::from_ref(&name)].concat(), format!("{folder}/{name}"));
            read(files, &format!("{below}.rs"), &below, &child, all);
            module.children.insert(name);
        }
    }
    all.insert(path.to_vec(), module);
}

/// The module that a path in `module` leads to; `None` for other crates and for local names.
fn resolve(all: &BTreeMap<Path, Module>, module: &[String], path: &[String], exports_left: usize) -> Option<Path> {
    let mut rest = path.iter().peekable();
    let mut at = match path.first()?.as_str() {
        "crate" => Path::new(),
        "self" | "super" => module.to_vec(),
        first => all.get(module)?.children.contains(first).then(|| module.to_vec())?,
    };
    rest.next_if(|first| matches!(first.as_str(), "crate" | "self"));
    while rest.next_if(|first| *first == "super").is_some() {
        at.pop();
    }
    for name in rest {
        let here = all.get(&at)?;
        if here.children.contains(name) {
            at.push(name.clone());
        } else if let Some(path) = here.imported.get(name).filter(|_| exports_left > 0) {
            return resolve(all, &at, path, exports_left - 1).or(Some(at));
        } else {
            break;
        }
    }
    Some(at)
}

/// The modules of the crate in `folder` that use each other in a circle.
pub(crate) fn cycles(files: &[File], folder: &str) -> Vec<String> {
    let source = if folder.is_empty() { "src".to_owned() } else { format!("{folder}/src") };
    let texts = files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut all = BTreeMap::new();
    read(&texts, &format!("{source}/lib.rs"), &source, &[], &mut all);

    let mut arrows: BTreeMap<&[String], BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for (from, module) in &all {
        for to in module.used.iter().filter_map(|path| resolve(&all, from, path, MOST_EXPORTS)) {
            let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
            if let (Some(user), Some(used)) = (from.get(shared), to.get(shared)) {
                arrows.entry(&from[..shared]).or_default().entry(user).or_default().insert(used.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (parent, arrows) in &arrows {
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for user in arrows.keys() {
            let reached = reachable(arrows, user);
            let circle: Vec<&str> =
                reached.iter().copied().filter(|other| reachable(arrows, other).contains(user)).collect();
            if !known.contains(user) && circle.len() > 1 {
                known.extend(&circle);
                found.push(format!("{source} {}: {} use each other", parent.join("::"), circle.join(", ")));
            }
        }
    }
    found
}

/// Everything that a module leads to.
fn reachable<'a>(arrows: &'a BTreeMap<&str, BTreeSet<String>>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = vec![from];
    while let Some(module) = next.pop() {
        for used in arrows.get(module).into_iter().flatten() {
            if reached.insert(used.as_str()) {
                next.push(used);
            }
        }
    }
    reached
}

#[test]
fn modules_that_use_each_other_are_found() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<File> = files.iter().map(|(path, text)| File::new(path, text)).collect();
        cycles(&files, "")
    };
    let lib = ("src/lib.rs", "mod a; mod b; pub use b::Back;");
    check(found(&[lib, ("src/a.rs", "use crate::b::X;"), ("src/b.rs", "pub struct Back;")]), &[]);
    check(found(&[lib, ("src/a.rs", "use crate::b::X;"), ("src/b.rs", "fn f() { super::a::g() }")]), &["a, b"]);
    // By a re-export, and by a module below.
    check(found(&[lib, ("src/a.rs", "use crate::Back;"), ("src/b.rs", "use crate::a;")]), &["a, b"]);
    let below = ("src/a/c.rs", "use crate::b;");
    check(found(&[lib, ("src/a.rs", "mod c;"), below, ("src/b.rs", "use crate::a::Y;")]), &["a, b"]);
    // A file and its children; tests.
    check(found(&[lib, ("src/a.rs", "mod c; use c::Z;"), ("src/a/c.rs", "use super::Y;")]), &[]);
    let tests = "#[cfg(test)] mod tests { use crate::a::Y; }";
    check(found(&[lib, ("src/a.rs", "use crate::b::X;"), ("src/b.rs", tests)]), &[]);
}
