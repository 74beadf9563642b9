//! The kinds of entities, and their relations.

/// Kind of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// A session, named by the first eight characters of its id.
    Session,
    /// A project, named by the last component of its directory.
    Project,
    /// A file, named by its path in the project.
    File,
    /// A command, named by program and subcommand: `cargo test`.
    Command,
    /// A tool of the agent, including those of MCP servers.
    Tool,
    /// A failure, named by its most informative line without what differs between two runs.
    Error,
    /// A package that was added or removed.
    Package,
    /// A branch.
    Branch,
    /// A web page, named by host and path.
    Url,
    /// An issue or a ticket: `#123`, `ABC-123`.
    Issue,
    /// The host of a page: `docs.rs`.
    Domain,
    /// A commit, named by the first line of its message, or by its hash if only that was mentioned.
    Commit,
    /// A pull request, named by its number, `#123`, or by its title while it has no number.
    PullRequest,
    /// The person who types the prompts.
    Person,
    /// Something that a person always or never wants, in their words.
    Preference,
    /// The subject of a decision.
    Topic,
}

/// Relation between the source and the target of a fact.
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
    /// A command, or a session, failed with an error. Holds until that error is resolved.
    FailedWith,
    /// An error no longer occurred after a file was changed or a command ran.
    ResolvedBy,
    /// A session added a package. Holds until the package is removed.
    AddedPackage,
    /// A session worked on a branch. Holds until the branch is deleted.
    OnBranch,
    /// A session fetched a page.
    Fetched,
    /// A person mentioned the entity in a session.
    Mentioned,
    /// A project, or a session without one, settled a topic. Holds until it is settled otherwise.
    Decided,
    /// A person wants this. Holds until they want something else.
    Prefers,
    /// A file was renamed. Holds until the new name is renamed or deleted.
    Renamed,
    /// A session deleted a file or a branch.
    Deleted,
    /// A session removed a package. Holds until the package is added again.
    RemovedPackage,
    /// A session made a commit.
    Committed,
    /// A session opened a pull request.
    Opened,
    /// A session replaced another one.
    PrecededBy,
    /// A session's conversation continues in another one.
    ContinuedBy,
    /// A session started a subagent.
    SpawnedAgent,
    /// A page belongs to a domain.
    PartOf,
    /// A relation with a name that its author gave it: [`Assertion::name`](super::Assertion::name).
    Custom,
}

impl Label {
    /// Every label. The position in this list is the label's number in the memory, so new ones are appended.
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

    /// Name in answers: `File`.
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

    /// Parses a label's name, ignoring case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.as_str().eq_ignore_ascii_case(name))
    }

    /// Maximum number of entities of this label per session.
    pub(super) fn bound(self) -> usize {
        match self {
            Self::Project | Self::Person => 1,
            // The session itself and those that it mentions.
            Self::Session => 60,
            Self::File => 120,
            Self::Command | Self::Error | Self::Package | Self::Topic => 60,
            Self::Tool | Self::Url | Self::Issue | Self::Commit | Self::Preference => 40,
            Self::Branch | Self::Domain | Self::PullRequest => 20,
        }
    }
}

impl Relation {
    /// Every relation. The position in this list is the relation's number in the memory, so new ones are appended.
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
        Self::Custom,
    ];

    /// Parses a relation's name in answers, ignoring case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|relation| relation.as_str().eq_ignore_ascii_case(name))
    }

    /// Name in answers: `FAILED_WITH`.
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
            Self::Custom => "TOLD",
        }
    }

    /// Additional search words for facts of this relation.
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
