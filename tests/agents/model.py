"""A scripted model on the loopback that real agents talk to instead of a vendor's.

It speaks what they speak, streamed and whole: Anthropic's messages, OpenAI's chat completions and responses, Gemini's
generateContent. It keeps no state: the last scripted prompt that a request contains picks the turn, and the number of
tool results after it picks the step. So agents may ask again, resume, and run side by side.

A turn is (prompt, steps). A step is a dict: "say" (text, before a call if there is one) and at most one of
"shell": COMMAND, "write": (PATH, TEXT), "edit": (PATH, OLD, NEW), "halt": True (half of the text, then silence).
"""
import itertools
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What a request gets that is no part of the conversation, such as one for a title.
ASIDE = "Store with two writers"
# The longest silence, in seconds.
SILENCE = 90
# The names that agents give to the tools for a purpose.
TOOLS = {
    "shell": ["Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "local_shell"],
    "write": ["Write", "write", "write_file", "create", "create_file"],
    "edit": ["Edit", "edit", "replace", "edit_file", "str_replace_editor"],
}
# The names that agents give to what a call needs.
ARGUMENTS = {
    "command": ["command", "cmd"],
    "path": ["file_path", "filePath", "path"],
    "text": ["content", "contents", "file_text"],
    "old": ["old_string", "oldString", "oldText", "old_str"],
    "new": ["new_string", "newString", "newText", "new_str"],
}


def squeezed(text):
    """The text with every run of white space as one space: some agents change it on the way to the model."""
    return " ".join(text.split())


def said(request):
    """What the user's side has sent, in order: texts, and None for each result of a tool."""
    items = request.get("input") or request.get("contents") or request.get("messages") or []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        if item.get("role") == "tool" or str(item.get("type", "")).endswith("_call_output"):
            yield None
        elif item.get("role") == "user":
            parts = item.get("parts") or item.get("content") or []
            for part in [{"text": parts}] if isinstance(parts, str) else parts:
                is_result = part.get("type") == "tool_result" or "functionResponse" in part
                yield None if is_result else part.get("text") or ""


def tools_of(request):
    """The offered tools: the schema of the arguments by name, or None where the argument is free text."""
    tools = {}
    for group in request.get("tools") or []:
        inner = group.get("functionDeclarations") or (group.get("tools") if group.get("type") == "namespace" else None)
        for tool in inner or [group.get("function") or group.get("custom") or group]:
            schema = tool.get("input_schema") or tool.get("parametersJsonSchema") or tool.get("parameters") or {}
            if tool.get("name"):
                tools[tool["name"]] = None if group.get("type") == "custom" else schema
    return tools


def schema_of_answer(request):
    """The schema that the answer must follow, or None."""
    for key in ("output_config", "text"):
        found = (request.get(key) or {}).get("format") or {}
        if found.get("schema"):
            return found["schema"]
    own = request.get("generationConfig") or {}
    chat = (request.get("response_format") or {}).get("json_schema") or {}
    return chat.get("schema") or own.get("responseJsonSchema") or own.get("responseSchema")


def sample(schema):
    """A value that fits the schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return sample(schema["anyOf"][0])
    kind = schema.get("type") or "string"
    kind = (kind if isinstance(kind, str) else kind[0]).lower()
    if kind == "object":
        known = schema.get("properties", {})
        return {name: sample(known[name]) for name in schema.get("required", known) if name in known}
    return {"boolean": False, "integer": 0, "number": 0, "array": []}.get(kind, ASIDE)


def arguments(schema, wanted):
    """The wanted values under the names that the schema has for them, and something for what else it requires."""
    known, found = schema.get("properties", {}), {}
    if "edits" in known and "old" in wanted:
        found["edits"] = [arguments(known["edits"].get("items") or {}, {"old": wanted.pop("old"), "new": wanted.pop("new")})]
    for name, value in wanted.items():
        name = next((other for other in ARGUMENTS[name] if other in known), ARGUMENTS[name][0])
        is_list = str(known.get(name, {}).get("type", "")).lower() == "array"
        found[name] = ["bash", "-lc", value] if is_list else value
    for name in schema.get("required", []):
        found.setdefault(name, sample(known.get(name, {})))
    return found


def patch(path, old, new):
    """A patch in the form that `apply_patch` takes; without an old text it adds the file."""
    added = "".join(f"+{line}\n" for line in new.rstrip("\n").split("\n"))
    removed = "".join(f"-{line}\n" for line in (old or "").split("\n"))
    change = f"*** Add File: {path}\n{added}" if old is None else f"*** Update File: {path}\n@@\n{removed}{added}"
    return f"*** Begin Patch\n{change}*** End Patch\n"


def call_of(step, tools):
    """The call of a step as (tool, arguments), or None; ValueError if the agent offers no tool for it."""
    purpose = next((purpose for purpose in TOOLS if purpose in step), None)
    if purpose is None:
        return None
    name = next((name for name in TOOLS[purpose] if name in tools), None)
    if purpose == "shell" and name:
        return name, arguments(tools[name] or {}, {"command": step["shell"]})
    if name and tools[name] is not None:
        keys = ("path", "text") if purpose == "write" else ("path", "old", "new")
        return name, arguments(tools[name], dict(zip(keys, step[purpose])))
    if purpose != "shell" and "apply_patch" in tools:
        path, *texts = step[purpose]
        text = patch(path, *texts) if purpose == "edit" else patch(path, None, *texts)
        return "apply_patch", text if tools["apply_patch"] is None else {"input": text}
    raise ValueError(f"no tool to {purpose} with among {', '.join(tools)}")


class Model:
    """The running server. `base` is its address; `halted` is set while it keeps silent in the middle of an answer."""

    def __init__(self, turns):
        self.turns, self.halted, self.problems = turns, threading.Event(), []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"model": self}))
        self.server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()

    def answer(self, request):
        """What the model says now: (text, call or None, whether to halt)."""
        schema, tools = schema_of_answer(request), tools_of(request)
        if schema:
            return json.dumps(sample(schema)), None, False
        # Aider calls no tools, and asks for messages of commits with what was said in its prompt.
        is_aside = not any("SEARCH/REPLACE" in str(message.get("content")) for message in request.get("messages") or [])
        if not tools and is_aside:
            return ASIDE, None, False
        steps, done = [], 0
        for text in said(request):
            found = text and next((turn for prompt, turn in self.turns if squeezed(prompt) in squeezed(text)), None)
            steps, done = (found, 0) if found else (steps, done + (text is None))
        step = steps[done] if done < len(steps) else {"say": "There is nothing left in the script."}
        try:
            return step.get("say", ""), call_of(step, tools), step.get("halt", False)
        except ValueError as problem:
            self.problems.append(str(problem))
            return str(problem), None, False


def halves(text):
    """The text in two parts, with None between them."""
    return [text[: len(text) // 2], None, text[len(text) // 2 :]] if text else []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    numbers = itertools.count(1)

    def log_message(self, *_):
        pass

    def reply(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, halt, named=False):
        """Sends events; None among them is where a halt happens."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            if event is None and halt:
                self.model.halted.set()
                self.connection.settimeout(SILENCE)
                self.connection.recv(1)
                return
            if event is not None:
                name = f"event: {event['type']}\n" if named else ""
                text = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"{name}data: {text}\n\n".encode())
                self.wfile.flush()

    def do_HEAD(self):
        self.reply({})

    def do_GET(self):
        one = {"id": "fake-model", "object": "model", "created": 0, "owned_by": "fake", "type": "model"}
        is_list = self.path.split("?")[0].endswith("/models")
        self.reply({"object": "list", "data": [one], "has_more": False} if is_list else {}, 200 if is_list else 404)

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, size = self.path.split("?")[0], len(raw) // 4
        if path.endswith(("count_tokens", ":countTokens")):
            return self.reply({"input_tokens": size, "totalTokens": size})
        ways = {"/messages": self.as_anthropic, "/chat/completions": self.as_chat, "/responses": self.as_responses, "enerateContent": self.as_gemini}
        way = next((way for ending, way in ways.items() if path.endswith(ending)), None)
        if way is None:
            return self.reply({"error": {"type": "not_found", "message": "not here"}}, 404)
        request = json.loads(raw or b"{}")
        try:
            way(request, *self.model.answer(request), size)
        except OSError:
            self.close_connection = True

    def as_anthropic(self, request, text, call, halt, size):
        blocks = [{"type": "text", "text": text}] if text else []
        if call:
            blocks.append({"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": call[0], "input": call[1]})
        usage = {"input_tokens": size, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 40}
        message = {"id": f"msg_{uuid.uuid4().hex[:24]}", "type": "message", "role": "assistant", "model": request.get("model"),
                   "content": blocks, "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None, "usage": usage}
        if not request.get("stream"):
            return self.reply(message)
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for index, block in enumerate(blocks):
            is_text = block["type"] == "text"
            empty = {**block, "text": ""} if is_text else {**block, "input": {}}
            deltas = [half and {"type": "text_delta", "text": half} for half in halves(text)] if is_text else [
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
            events.append({"type": "content_block_start", "index": index, "content_block": empty})
            events += [delta and {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": index})
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self.stream(events + [{"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}], halt, True)

    def as_chat(self, request, text, call, halt, size):
        message, end = {"role": "assistant", "content": text or None}, "tool_calls" if call else "stop"
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"index": 0, "id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}]
            if isinstance(call[1], str):
                custom = {"name": call[0], "input": call[1]}
                message["tool_calls"][0] = {"index": 0, "id": f"call_{uuid.uuid4().hex[:20]}", "type": "custom", "custom": custom}
        usage = {"prompt_tokens": size, "completion_tokens": 40, "total_tokens": size + 40}
        base = {"id": f"chatcmpl-{uuid.uuid4().hex[:20]}", "created": 0, "model": request.get("model"), "object": "chat.completion.chunk"}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": end}
            return self.reply({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        deltas = [{"role": "assistant", "content": ""}] + [half and {"content": half} for half in halves(text)]
        deltas += [{"tool_calls": message["tool_calls"]}] if call else []
        events = [delta and {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        events += [{**base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]}, {**base, "choices": [], "usage": usage}]
        self.stream(events + ["[DONE]"], halt)

    def as_responses(self, request, text, call, halt, size):
        items = []
        if text:
            content = [{"type": "output_text", "text": text, "annotations": []}]
            items.append({"type": "message", "id": f"msg_{uuid.uuid4().hex[:8]}", "role": "assistant", "status": "completed", "content": content})
        if call:
            base = {"id": f"fc_{uuid.uuid4().hex[:8]}", "call_id": f"call_{uuid.uuid4().hex[:16]}", "name": call[0]}
            is_free = isinstance(call[1], str)
            items.append({"type": "custom_tool_call", **base, "input": call[1]} if is_free else {
                "type": "function_call", **base, "arguments": json.dumps(call[1])})
        usage = {"input_tokens": size, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 40,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": size + 40}
        done = {"id": f"resp_{uuid.uuid4().hex[:20]}", "object": "response", "status": "completed", "model": request.get("model"),
                "output": items, "usage": usage}
        if not request.get("stream"):
            return self.reply(done)
        events = [{"type": "response.created", "response": {**done, "status": "in_progress", "output": []}}]
        for index, item in enumerate(items):
            start = {**item, "content": []} if "content" in item else item
            events.append({"type": "response.output_item.added", "output_index": index, "item": start})
            if "content" in item:
                where = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events += [half and {"type": "response.output_text.delta", **where, "delta": half} for half in halves(text)]
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        self.stream(events + [{"type": "response.completed", "response": done}], halt, True)

    def as_gemini(self, _request, text, call, halt, size):
        usage = {"promptTokenCount": size, "candidatesTokenCount": 40, "totalTokenCount": size + 40}
        calls = [{"functionCall": {"name": call[0], "args": call[1]}}] if call else []
        model = self.path.split("?")[0].split("/")[-1].split(":")[0]

        def chunk(parts, **end):
            candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **end}
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model, "responseId": f"r{next(self.numbers)}"}

        if "streamGenerateContent" not in self.path:
            return self.reply(chunk(([{"text": text}] if text else []) + calls, finishReason="STOP"))
        events = [half and chunk([{"text": half}]) for half in halves(text)]
        self.stream(events + [chunk(calls or [{"text": ""}], finishReason="STOP")], halt)
