#!/usr/bin/env python3
"""Makes `earlier.tar.zst`: a home as an earlier version writes it, with secrets that its rules of redaction did not know.

    make.py PROGRAM      PROGRAM: a `baton` of filter version 5

Writes to /tmp/earlier, where nothing else may lie. Needs `tar` and `zstd`.
"""
import json, os, shutil, subprocess, sys, threading, time, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
OLD = sys.argv[1]
TOP = '/tmp/earlier'
shutil.rmtree(TOP, ignore_errors=True)
HOME, CLAUDE = f'{TOP}/home', f'{TOP}/claude'
for d in (HOME, CLAUDE + '/projects', f'{TOP}/user', f'{TOP}/work'): os.makedirs(d)

ANSWER = {
  "objective": "Move the shop to the new database",
  "work_completed": [{"category": "setup", "text": "connected with postgres://shop:Hiddenlake22@db.example.net/shop", "line": 3}],
  "external_research": [], "knowledge_stored": [],
  "decisions": [{"text": "keep DB_PASSWORD=Enterprise2024! for the staging host", "line": 1}],
  "errors": [], "unresolved": [], "next_steps": [],
  "continuation_context": "Run redis-cli -a tango77Quay ping again.",
  "entities": [], "facts": [],
}
class H(BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def do_POST(self):
        asked = self.rfile.read(int(self.headers.get('content-length', 0))).decode()
        answer = {**ANSWER, "work_completed": [], "decisions": [], "objective": "Paint the wombat barn", "continuation_context": "Nothing is open.", "next_steps": [{"text": "look at the barn again", "line": 1}]} if 'wombat' in asked else ANSWER
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "made", "choices": [{"index": 0, "message": {"role": "assistant", "content": json.dumps(answer)}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}).encode()
        self.send_response(200); self.send_header('content-type', 'application/json'); self.send_header('content-length', str(len(body))); self.end_headers(); self.wfile.write(body)
server = ThreadingHTTPServer(('127.0.0.1', 0), H)
threading.Thread(target=server.serve_forever, daemon=True).start()
cfg = {"llm": {"enabled": True, "base_url": f"http://127.0.0.1:{server.server_port}/v1", "model": "made"},
       "session_tracking": {"check_interval": 1, "inactivity_timeout": 3600}, "vault": {"enabled": True}}
json.dump(cfg, open(f'{HOME}/config.json', 'w'))
ENV = {"PATH": os.environ["PATH"], "BATON_HOME": HOME, "CLAUDE_CONFIG_DIR": CLAUDE, "CODEX_HOME": f"{TOP}/codex", "HOME": f"{TOP}/user", "OPENAI_API_KEY": "numbat-key-0123456789"}
def baton(*a, ok=True):
    r = subprocess.run([OLD, *a], env=ENV, cwd=f'{TOP}/work', capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ok and r.returncode: raise SystemExit(f'{a}: {r.stdout}{r.stderr}')
    return r.stdout
def sid(n): return f'{n:08x}-1f2e-4d3c-8b4a-5a6b7c8d9e0f'
def session(n, project, records):
    path = f'{CLAUDE}/projects/-srv-{project}/{sid(n)}.jsonl'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    at = datetime.datetime(2026, 9, 1, 10, 0, 0) + datetime.timedelta(hours=n)
    last, out = None, []
    for i, (kind, content) in enumerate(records):
        at += datetime.timedelta(seconds=5)
        uuid = f'{n:08x}-0000-4000-8000-{i:012x}'
        stamp = at.strftime('%Y-%m-%dT%H:%M:%S.000Z')
        common = {"parentUuid": last, "isSidechain": False, "userType": "external", "cwd": f"/srv/{project}", "sessionId": sid(n), "version": "2.1.0", "gitBranch": "main", "uuid": uuid, "timestamp": stamp}
        if kind == 'prompt': rec = {**common, "type": "user", "message": {"role": "user", "content": content}}
        elif kind == 'result': rec = {**common, "type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{n}_{i-1}", "content": content, "is_error": False}]}}
        elif kind == 'reply': rec = {**common, "type": "assistant", "message": {"id": f"msg_{n}_{i}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": content}], "usage": {"input_tokens": 1, "output_tokens": 1}}}
        elif kind == 'call': rec = {**common, "type": "assistant", "message": {"id": f"msg_{n}_{i}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "tool_use", "id": f"toolu_{n}_{i}", "name": content[0], "input": content[1]}], "usage": {"input_tokens": 1, "output_tokens": 1}}}
        out.append(json.dumps(rec)); last = uuid
    open(path, 'w').write('\n'.join(out) + '\n')
ARGS = {"host": "db.example.net", "password": "kW8xyzq7Lm2p", "apiKey": "Zx81kLmn29Qp"}
session(1, 'shop', [('prompt', 'Run redis-cli -a tango77Quay ping and set the shop up'), ('call', ('mcp__db__connect', ARGS)), ('result', 'connected'),
  ('reply', 'I decided to use DB_PASSWORD=Enterprise2024! because staging has it. The numbat store is connected.'),
  ('prompt', 'Remember: always run redis-cli -a tango77Quay before the shop deploy'), ('call', ('Bash', {"command": "redis-cli -a tango77Quay flushall"})), ('result', 'sent'), ('reply', 'The numbat shop is deployed.')])
session(2, 'shop', [('prompt', 'Check the quokka queue'), ('reply', 'It uses postgres://shop:Hiddenlake22@db.example.net/shop and is empty.'), ('prompt', 'Good'), ('reply', 'The quokka queue is done.')])
session(3, 'shop', [('prompt', 'Paint the wombat barn red'), ('reply', 'The wombat barn is red now, as you asked.'), ('prompt', 'Thanks'), ('reply', 'The wombat work is finished.')])
session(4, 'farm', [('prompt', 'Look at the platypus pond'), ('call', ('mcp__db__connect', ARGS)), ('result', 'connected'), ('reply', 'The platypus pond holds REDIS_PASSWORD=Winter2025.Snow in its file.')])
session(5, 'farm', [('prompt', 'Feed the echidna'), ('reply', 'DB_PASSWORD=Enterprise2024! opens the echidna shed.')])
baton('search', 'numbat')
def wait(what, f):
    for _ in range(600):
        if f(): return
        time.sleep(0.1)
    raise SystemExit(what + ': ' + baton('status'))
baton('close', sid(1), '--reason', 'handed over with REDIS_PASSWORD=Winter2025.Snow')
baton('close', sid(2)); baton('close', sid(3)); baton('close', sid(4)); baton('close', sid(5))
wait('enriched', lambda: all(json.loads(baton('show', sid(n), '--json'))['episode']['tier'] == 'enriched' for n in range(1, 6)))
# Notes, by the tools of agents.
def tool(name, args):
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": args}}]
    p = subprocess.Popen([OLD, 'mcp'], env=ENV, cwd=f'{TOP}/work', stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for c in calls: p.stdin.write(json.dumps(c) + '\n')
    p.stdin.flush()
    for line in p.stdout:
        m = json.loads(line)
        if m.get('id') == 2:
            p.stdin.close(); p.wait(); return m
tool('add_memory', {"name": "Staging", "episode_body": "Log in with redis-cli -a tango77Quay, the bilby host takes it.", "group_id": "notes"})
tool('add_memory', {"name": "Settings", "episode_body": "{\"host\": \"bilby\", \"password\": \"Yourmum1987!\"}", "source": "json", "group_id": "notes"})
tool('add_memory', {"name": "Harmless", "episode_body": "The bandicoot likes rain.", "group_id": "notes"})
tool('add_memory', {"name": "Cleared", "episode_body": "DB_PASSWORD=Enterprise2024! for the potoroo.", "group_id": "cleared"})
tool('clear_graph', {"group_ids": ["cleared"], "confirm": True})
tool('stop_tracking_session', {"session_id": sid(4)})
tool('delete_episode', {"uuid": json.loads(baton('show', sid(5), '--json'))['episode']['uuid']})
wait('vault', lambda: json.loads(baton('vault', 'status', '--json')).get('owed', 0) == 0 and json.loads(baton('vault', 'status', '--json'))['notes'] >= 4)
baton('log', 'verify')
baton('stop')
server.shutdown()
cfg['llm'] = {"enabled": False}
json.dump(cfg, open(f'{HOME}/config.json', 'w'))

for name in ('daemon.lock', 'start.lock', 'daemon.log'):
    try: os.remove(f'{HOME}/{name}')
    except FileNotFoundError: pass

subprocess.run('tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf - home claude | zstd -19 -q -f -o earlier.tar.zst', shell=True, check=True, cwd=TOP)
print(f'{TOP}/earlier.tar.zst')
