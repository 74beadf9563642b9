//! What entities are, and how they bear on each other.

/// What an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// A session, by the first eight characters of its id.
    Session,
    /// A project, by the last part of its directory.
    Project,
    /// A file, by its path in the project.
    File,
    /// A command, by program and subcommand: `cargo test`.
    Command,
    /// A tool of the agent, those of MCP servers included.
    Tool,
    /// A failure, by its first telling line without what differs between two runs.
    Error,
    /// A package that was added or taken out.
    Package,
    /// A branch.
    Branch,
    /// A page, by host and path.
    Url,
    /// An issue or a ticket: `#123`, `ABC-123`.
    Issue,
    /// The host of pages: `docs.rs`.
    Domain,
    /// A commit, by the first line of its message, or by its hash where only that was named.
    Commit,
    /// A pull request, by its number, `#123`, or by its title where it has no number yet.
    PullRequest,
    /// The person who types the prompts.
    Person,
    /// What a person wants to be done always or never, in their words.
    Preference,
    /// What a decision is about.
    Topic,
}

/// How the source of a fact bears on its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// A session works in a project.
    InProject,
    /// A session changed a file. Holds until the file is renamed or deleted.
    Modified,
    /// A session read a file. Holds until the file is renamed or deleted.
    Read,
    /// A session ran a command.
    Ran,
    /// A session used a tool.
    Used,
    /// A command, or a session, ended in an error. Holds until that error is resolved.
    FailedWith,
    /// An error was gone after a file was changed, or a command ran.
    ResolvedBy,
    /// A session added a package. Holds until the package is taken out.
    AddedPackage,
    /// A session worked on a branch. Holds until the branch is deleted.
    OnBranch,
    /// A session fetched a page.
    Fetched,
    /// A person named it in a session.
    Mentioned,
    /// A project, or a session of none, settled a topic. Holds until it is settled otherwise.
    Decided,
    /// A person wants it so. Holds until they want it otherwise.
    Prefers,
    /// A file has another name. Holds until that one is renamed or deleted.
    Renamed,
    /// A session deleted a file or a branch.
    Deleted,
    /// A session took a package out. Holds until the package is added again.
    RemovedPackage,
    /// A session made a commit.
    Committed,
    /// A session opened a pull request.
    Opened,
    /// A session began in the place of another.
    PrecededBy,
    /// A session's conversation goes on in another.
    ContinuedBy,
    /// A session started a subagent.
    SpawnedAgent,
    /// A page is a part of a domain.
    PartOf,
    /// Somebody said so, by a name of their own: [`Assertion::name`](super::Assertion::name).
    Told,
}

impl Label {
    /// Every label; its place here is its number in the memory, so new ones come last.
    pub const ALL: [Self; 16] = [
        Self::Session,
        Self::Project,
        Self::File,
        Self::Command,
        Self::Tool,
        Self::Error,
        Self::Package,
        Self::Branch,
        Self::Url,
        Self::Issue,
        Self::Domain,
        Self::Commit,
        Self::PullRequest,
        Self::Person,
        Self::Preference,
        Self::Topic,
    ];

    /// The name in answers: `File`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "Session",
            Self::Project => "Project",
            Self::File => "File",
            Self::Command => "Command",
            Self::Tool => "Tool",
            Self::Error => "Error",
            Self::Package => "Package",
            Self::Branch => "Branch",
            Self::Url => "Url",
            Self::Issue => "Issue",
            Self::Domain => "Domain",
            Self::Commit => "Commit",
            Self::PullRequest => "PullRequest",
            Self::Person => "Person",
            Self::Preference => "Preference",
            Self::Topic => "Topic",
        }
    }

    /// The label of a name, whatever its case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.as_str().eq_ignore_ascii_case(name))
    }

    /// Most entities of it in one session.
    pub(super) fn bound(self) -> usize {
        match self {
            Self::Project | Self::Person => 1,
            // Itself, and those that it names.
            Self::Session => 60,
            Self::File => 120,
            Self::Command | Self::Error | Self::Package | Self::Topic => 60,
            Self::Tool | Self::Url | Self::Issue | Self::Commit | Self::Preference => 40,
            Self::Branch | Self::Domain | Self::PullRequest => 20,
        }
    }
}

impl Relation {
    /// Every relation; its place here is its number in the memory, so new ones come last.
    pub const ALL: [Self; 23] = [
        Self::InProject,
        Self::Modified,
        Self::Read,
        Self::Ran,
        Self::Used,
        Self::FailedWith,
        Self::ResolvedBy,
        Self::AddedPackage,
        Self::OnBranch,
        Self::Fetched,
        Self::Mentioned,
        Self::Decided,
        Self::Prefers,
        Self::Renamed,
        Self::Deleted,
        Self::RemovedPackage,
        Self::Committed,
        Self::Opened,
        Self::PrecededBy,
        Self::ContinuedBy,
        Self::SpawnedAgent,
        Self::PartOf,
        Self::Told,
    ];

    /// The relation of a name in answers, whatever its case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.as_str().eq_ignore_ascii_case(name))
    }

    /// The name in answers: `FAILED_WITH`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProject => "IN_PROJECT",
            Self::Modified => "MODIFIED",
            Self::Read => "READ",
            Self::Ran => "RAN",
            Self::Used => "USED",
            Self::FailedWith => "FAILED_WITH",
            Self::ResolvedBy => "RESOLVED_BY",
            Self::AddedPackage => "ADDED_PACKAGE",
            Self::OnBranch => "ON_BRANCH",
            Self::Fetched => "FETCHED",
            Self::Mentioned => "MENTIONED",
            Self::Decided => "DECIDED",
            Self::Prefers => "PREFERS",
            Self::Renamed => "RENAMED",
            Self::Deleted => "DELETED",
            Self::RemovedPackage => "REMOVED_PACKAGE",
            Self::Committed => "COMMITTED",
            Self::Opened => "OPENED",
            Self::PrecededBy => "PRECEDED_BY",
            Self::ContinuedBy => "CONTINUED_BY",
            Self::SpawnedAgent => "SPAWNED_AGENT",
            Self::PartOf => "PART_OF",
            Self::Told => "TOLD",
        }
    }

    /// Words by which somebody asks for such facts; they are found by these beside their own.
    pub fn asked_by(self) -> &'static str {
        match self {
            Self::Modified => "file changed edited belongs work",
            Self::Read => "file",
            Self::FailedWith => "error failure",
            Self::ResolvedBy => "fix fixed solved error",
            Self::Decided => "decision choose chose chosen choice why reason",
            Self::Prefers => "preference prefer like want always never",
            Self::Renamed => "file moved",
            Self::Deleted => "removed",
            Self::AddedPackage => "dependency",
            Self::RemovedPackage => "dependency dropped",
            Self::Committed => "commit",
            Self::Opened => "pull request",
            Self::PrecededBy | Self::ContinuedBy => "session continued resumed",
            Self::SpawnedAgent => "subagent",
            _ => "",
        }
    }
}
