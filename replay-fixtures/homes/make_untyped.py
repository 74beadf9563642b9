#!/usr/bin/env python3
"""Makes `untyped.tar.zst`: a home whose conversations are stored as items of version 1, and their transcripts.

    make_untyped.py PROGRAM      PROGRAM: a `baton` that stores items of version 1 with filter version 6

Works in a new temporary directory and prints where the archive lies. Needs `tar` and `zstd`.
"""
import datetime, json, os, subprocess, sys, tempfile

TOP = tempfile.mkdtemp()
HOME, CLAUDE = f'{TOP}/home', f'{TOP}/claude'
for folder in (HOME, CLAUDE, f'{TOP}/user'):
    os.makedirs(folder)
ENV = {'PATH': os.environ['PATH'], 'BATON_HOME': HOME, 'CLAUDE_CONFIG_DIR': CLAUDE, 'CODEX_HOME': f'{TOP}/codex', 'HOME': f'{TOP}/user'}


def baton(*arguments):
    subprocess.run([sys.argv[1], *arguments], env=ENV, cwd=TOP, check=True, stdin=subprocess.DEVNULL)


def session(number, contents):
    name = f'{number:08x}-1f2e-4d3c-8b4a-5a6b7c8d9e0f'
    folder = f'{CLAUDE}/projects/-srv-shop'
    os.makedirs(folder, exist_ok=True)
    at, last, call, lines = datetime.datetime(2026, 9, 1, 10 + number), None, None, []
    for index, (kind, content) in enumerate(contents):
        at += datetime.timedelta(seconds=5)
        uuid = f'{number:08x}-0000-4000-8000-{index:012x}'
        record = {'parentUuid': last, 'isSidechain': False, 'userType': 'external', 'cwd': '/srv/shop', 'sessionId': name,
                  'version': '2.1.0', 'gitBranch': 'main', 'uuid': uuid, 'timestamp': at.strftime('%Y-%m-%dT%H:%M:%S.000Z')}
        said = {'id': f'msg_{number}_{index}', 'type': 'message', 'role': 'assistant', 'model': 'claude-sonnet-4-5'}
        match kind:
            case 'prompt':
                record |= {'type': 'user', 'message': {'role': 'user', 'content': content}}
            case 'result':
                result = {'type': 'tool_result', 'tool_use_id': call, 'content': content, 'is_error': False}
                record |= {'type': 'user', 'message': {'role': 'user', 'content': [result]}}
            case 'reply':
                record |= {'type': 'assistant', 'message': said | {'content': [{'type': 'text', 'text': content}]}}
            case tool:
                call = f'toolu_{number}_{index}'
                used = {'type': 'tool_use', 'id': call, 'name': tool, 'input': content}
                record |= {'type': 'assistant', 'message': said | {'content': [used]}}
        lines.append(json.dumps(record))
        last = uuid
    with open(f'{folder}/{name}.jsonl', 'w') as file:
        file.write('\n'.join(lines) + '\n')
    return name


FAILED = 'error[E0308]: mismatched types in src/wombat.rs\nerror: could not compile `shop` due to 1 previous error'
PASSED = 'test wombat::pays ... ok\n\ntest result: ok. 12 passed; 0 failed; 0 ignored'
NAMES = [session(number, [
    ('prompt', f'The wombat order number {number} is never paid, mend it'),
    ('Bash', {'command': 'cargo test 2>&1 | tail -20'}), ('result', FAILED),
    ('Edit', {'file_path': '/srv/shop/src/wombat.rs', 'old_string': 'u32', 'new_string': 'u64'}),
    ('result', 'The file /srv/shop/src/wombat.rs has been updated.'),
    ('Bash', {'command': 'cargo test 2>&1 | tail -20'}), ('result', PASSED),
    ('reply', 'The wombat order is paid: its amount is a `u64` now.'),
]) for number in (1, 2)]
baton('search', 'wombat')
for name in NAMES:
    baton('close', name)
baton('stop')
for name in ('daemon.lock', 'start.lock', 'daemon.log'):
    if os.path.exists(f'{HOME}/{name}'):
        os.remove(f'{HOME}/{name}')
PACK = 'tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -cf - home claude'
subprocess.run(f'{PACK} | zstd -19 -q -f -o untyped.tar.zst', shell=True, check=True, cwd=TOP)
print(f'{TOP}/untyped.tar.zst')
