"""What is typed and answered in a run, and the files of the project that it is about."""

# A check that fails, with exit code 3, until store.py sets a timeout.
FILES = {
    "check.sh": "grep -q busy_timeout store.py && echo '2 writers, 0 refused' && exit 0\n"
    "echo 'store.py: the second writer is refused' >&2\nexit 3\n",
}
CHECK, CODE = "sh check.sh", 3

PROMPTS = [
    'The two writers of the store block each other ("database is locked").\n\n'
    "Please repair it:\n  - `sh check.sh` shows it;\n  - a naïve `Vec<u8>` & 4 MB are enough – 100 % of the time.",
    "Say in NOTES.md how long a writer waits, please.\nOne line is enough.",
    "Wait for the other writer, please.",
    "Now a slow question: what else could block a writer?",
]
OLD = "    return sqlite3.connect(path)"
NEW = "    db = sqlite3.connect(path)\n    db.execute('PRAGMA busy_timeout = 5000')\n    return db"
STORE = f"import sqlite3\n\n\ndef open_store(path):\n{OLD}\n"
NOTE = "A writer waits five seconds for the other one.\n"
DECISION = "the store waits with a busy timeout instead of a lock file, because a lock file survives a crash."
NEXT = "add a test with two concurrent writers."
SLOW = "A backup that holds a read lock would be the first thing to look for. A second one is a long transaction in another process."

# A command that goes on until it is interrupted, and the file that says that it has begun.
BEGUN = "begun.txt"
LONG = f"touch {BEGUN} && sleep 60"
# The tokens that the model counts for an answer, and the answers until the first interrupt.
TOKENS, ANSWERS = 40, 7


def turns(project):
    """The turns that the model plays in this directory."""
    store, notes = f"{project}/store.py", f"{project}/NOTES.md"
    first = [
        {"say": "I write the store down first.", "write": (store, STORE)},
        {"say": "Now the check.", "shell": CHECK},
        {"edit": (store, OLD, NEW)},
        {"shell": CHECK},
        {"say": f"Both writers get through now.\n\nDecision: {DECISION}\n\nNext step: {NEXT}"},
    ]
    second = [{"write": (notes, NOTE)}, {"say": "NOTES.md says it: **five seconds**.\n\n- `store.py` is unchanged"}]
    return list(zip(PROMPTS, [first, second, [{"shell": LONG}], [{"say": SLOW, "halt": True}]]))


def replies(project):
    """What the model says in the turns that are answered, in order."""
    return [step["say"] for _, steps in turns(project)[:2] for step in steps if "say" in step]
