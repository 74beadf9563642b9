//! The kinds of entities, and their relations.

baton_protocol::named! {
    /// Kind of an entity. The position in the list is its number in the memory, so new ones are appended.
    Label {
        /// A session, named by the first eight characters of its id.
        Session = "Session",
        /// A project, named by the last component of its directory.
        Project = "Project",
        /// A file, named by its path in the project.
        File = "File",
        /// A command, named by program and subcommand: `cargo test`.
        Command = "Command",
        /// A tool of the agent, including those of MCP servers.
        Tool = "Tool",
        /// A failure, named by its most informative line without what differs between two runs.
        Error = "Error",
        /// A package that was added or removed.
        Package = "Package",
        /// A branch.
        Branch = "Branch",
        /// A web page, named by host and path.
        Url = "Url",
        /// An issue or a ticket: `#123`, `ABC-123`.
        Issue = "Issue",
        /// The host of a page: `docs.rs`.
        Domain = "Domain",
        /// A commit, named by the first line of its message, or by its hash if only that was mentioned.
        Commit = "Commit",
        /// A pull request, named by its number, `#123`, or by its title while it has no number.
        PullRequest = "PullRequest",
        /// The person who types the prompts.
        Person = "Person",
        /// Something that a person always or never wants, in their words.
        Preference = "Preference",
        /// The subject of a decision.
        Topic = "Topic",
    }
}

baton_protocol::named! {
    /// Relation between the source and the target of a fact. The position in the list is its number in the memory, so new
    /// ones are appended.
    Relation {
        /// A session works in a project.
        InProject = "IN_PROJECT",
        /// A session changed a file. Holds until the file is renamed or deleted.
        Modified = "MODIFIED",
        /// A session read a file. Holds until the file is renamed or deleted.
        Read = "READ",
        /// A session ran a command.
        Ran = "RAN",
        /// A session used a tool.
        Used = "USED",
        /// A command, or a session, failed with an error. Holds until that error is resolved.
        FailedWith = "FAILED_WITH",
        /// An error no longer occurred after a file was changed or a command ran.
        ResolvedBy = "RESOLVED_BY",
        /// A session added a package. Holds until the package is removed.
        AddedPackage = "ADDED_PACKAGE",
        /// A session worked on a branch. Holds until the branch is deleted.
        OnBranch = "ON_BRANCH",
        /// A session fetched a page.
        Fetched = "FETCHED",
        /// A person mentioned the entity in a session.
        Mentioned = "MENTIONED",
        /// A project, or a session without one, settled a topic. Holds until it is settled otherwise.
        Decided = "DECIDED",
        /// A person wants this. Holds until they want something else.
        Prefers = "PREFERS",
        /// A file was renamed. Holds until the new name is renamed or deleted.
        Renamed = "RENAMED",
        /// A session deleted a file or a branch.
        Deleted = "DELETED",
        /// A session removed a package. Holds until the package is added again.
        RemovedPackage = "REMOVED_PACKAGE",
        /// A session made a commit.
        Committed = "COMMITTED",
        /// A session opened a pull request.
        Opened = "OPENED",
        /// A session replaced another one.
        PrecededBy = "PRECEDED_BY",
        /// A session's conversation continues in another one.
        ContinuedBy = "CONTINUED_BY",
        /// A session started a subagent.
        SpawnedAgent = "SPAWNED_AGENT",
        /// A page belongs to a domain.
        PartOf = "PART_OF",
        /// A relation with a name that its author gave it: [`Assertion::name`](super::Assertion::name).
        Custom = "TOLD",
    }
}

impl Label {
    /// Returns the label of a name, ignoring case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|label| label.as_str().eq_ignore_ascii_case(name))
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
    /// Returns the relation of a name, ignoring case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|relation| relation.as_str().eq_ignore_ascii_case(name))
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
