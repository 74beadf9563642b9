"""The agents that are driven: where they come from, how they are set up without an account, and how they are called."""
import json
from dataclasses import dataclass, field

KEY = "no-real-key"


@dataclass
class Agent:
    """`env`, `files` and `again` may hold `{base}` (the model's address) and `{project}` (the directory)."""

    # What Baton calls it.
    name: str
    package: str
    program: str
    # The arguments of a first prompt and of a further one in the same session; the prompt comes last.
    first: list
    again: list
    env: dict = field(default_factory=dict)
    # Its settings: texts by path below its home.
    files: dict = field(default_factory=dict)
    # True if it names files by the minute, so that to resume in a later one is another case.
    by_minute: bool = False
    # True if it reads the prompt from its input, and would store one from its command line in quotation marks.
    by_stdin: bool = False


CODEX = f"""\
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{{base}}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false

[projects."{{project}}"]
trust_level = "trusted"
"""
QUIET = {"general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
FREE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
PI_MODEL = {"id": "fake-model", "name": "Scripted", "reasoning": False, "input": ["text"], "cost": FREE, "contextWindow": 128000, "maxTokens": 8000}
PI = {"providers": {"scripted": {"baseUrl": "{base}/v1", "api": "openai-completions", "apiKey": KEY, "models": [PI_MODEL]}}}
OPENCODE_PROVIDER = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "{base}/v1", "apiKey": KEY}, "models": {"fake-model": {}}}
OPENCODE = {"provider": {"scripted": OPENCODE_PROVIDER}, "model": "scripted/fake-model", "small_model": "scripted/fake-model",
            "permission": {"edit": "allow", "bash": "allow", "webfetch": "allow"}, "autoupdate": False, "share": "disabled"}


def with_login(kind):
    """Settings of Gemini CLI and of what descends from it, with this kind of login."""
    return json.dumps({**QUIET, "security": {"auth": {"selectedType": kind}}})


AIDER = ["--model", "openai/fake-model", "--edit-format", "diff", "--yes-always", "--no-pretty", "--no-fancy-input"]
CLAUDE_TOOLS = ["--allowedTools", "Bash Write Edit Read"]
AGENTS = {
    "claude": Agent(
        "claude_code", "@anthropic-ai/claude-code", "claude",
        [*CLAUDE_TOOLS, "-p"], ["--continue", *CLAUDE_TOOLS, "-p"],
        {"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_API_KEY": KEY, "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
         "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    ),
    "codex": Agent(
        "codex", "@openai/codex", "codex", ["exec", "--skip-git-repo-check"], ["exec", "--skip-git-repo-check", "resume", "--last"],
        {"SCRIPTED_KEY": KEY}, {".codex/config.toml": CODEX},
    ),
    "gemini": Agent(
        "gemini", "@google/gemini-cli", "gemini",
        ["-m", "gemini-2.5-pro", "--yolo", "-p"], ["-m", "gemini-2.5-pro", "--yolo", "--resume", "latest", "-p"],
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": "{base}", "GEMINI_TELEMETRY_ENABLED": "false",
         "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_BROWSER": "1"},
        {".gemini/settings.json": with_login("gemini-api-key")}, by_minute=True,
    ),
    "qwen": Agent(
        "qwen", "@qwen-code/qwen-code", "qwen", ["--yolo", "-p"], ["--yolo", "--continue", "-p"],
        {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "{base}/v1", "OPENAI_MODEL": "fake-model", "QWEN_TELEMETRY_ENABLED": "false", "NO_BROWSER": "1"},
        {".qwen/settings.json": with_login("openai")},
    ),
    "copilot": Agent(
        "copilot", "@github/copilot", "copilot", ["--allow-all-tools", "-p"], ["--allow-all-tools", "--continue", "-p"],
        {"COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{base}/v1",
         "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_MODEL": "gpt-5.5", "COPILOT_ALLOW_ALL": "true"},
    ),
    "pi": Agent(
        "pi", "@mariozechner/pi-coding-agent", "pi",
        ["--provider", "scripted", "--model", "fake-model", "-p"], ["--provider", "scripted", "--model", "fake-model", "-c", "-p"],
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
        {".pi/agent/models.json": json.dumps(PI)},
    ),
    "opencode": Agent(
        "opencode", "opencode-ai", "opencode", ["run"], ["run", "--continue"],
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"},
        {".config/opencode/opencode.json": json.dumps(OPENCODE)}, by_stdin=True,
    ),
    "aider": Agent(
        "aider", "aider-chat", "aider", AIDER, [*AIDER, "--restore-chat-history"],
        {"OPENAI_API_BASE": "{base}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false", "AIDER_CHECK_UPDATE": "false",
         "AIDER_SHOW_RELEASE_NOTES": "false", "AIDER_SHOW_MODEL_WARNINGS": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
    ),
}
