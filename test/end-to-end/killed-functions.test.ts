import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { spawn } from '../processes.js';
import { cleanEnvironment, command, temporaryFolder } from '../running.js';

/**
 * Functions that never end, of commands that are killed: the function and its processes end, and the files are as they
 * were.
 */

const { folder, remove } = temporaryFolder();
afterAll(remove);
const canSee = existsSync('/proc/self/environ');
const FUNCTION = `#!/bin/sh
trap '' TERM INT HUP
sleep 100000 &
: >"$STARTED"
while :; do sleep 100000; done
`;
const FILES = {
  Kptfile: `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: app
pipeline:
  mutators:
    - exec: ./forever.sh
`,
  'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n',
  'functions/forever.yaml': `apiVersion: example.com/v1
kind: Forever
metadata:
  name: forever
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ../forever.sh
`,
};

it.skipIf(!canSee).each([
  ['fn', 'eval', 'app', '--exec', './forever.sh'],
  ['fn', 'eval', 'app', '--exec', './forever.sh', '-o', 'unwrap'],
  ['fn', 'render', 'app', '--allow-package-exec'],
  ['fn', 'run', 'app', '--allow-package-exec'],
  ['lock', 'app', '--preview', '--allow-package-exec'],
])('krmhub %s %s %s %s', async (...args) => {
  const mark = randomUUID();
  const place = path.join(folder, mark);
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(place, 'app', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  writeFileSync(path.join(place, 'forever.sh'), FUNCTION, { mode: 0o755 });
  const started = path.join(place, 'started');
  const krmhub = spawn(process.execPath, [command, ...args], {
    cwd: place,
    env: cleanEnvironment(place, { STARTED: started, MARK: mark }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  krmhub.stderr.on('data', (text) => {
    printed += text;
  });
  await expect.poll(() => existsSync(started) || printed.includes('rror')).toBe(true);
  expect(printed).not.toContain('rror');
  expect(processesOf(mark).length).toBeGreaterThan(2);
  await kill(krmhub);
  await expect.poll(() => processesOf(mark)).toEqual([]);
  for (const [name, text] of Object.entries(FILES)) {
    expect(readFileSync(path.join(place, 'app', name), 'utf8')).toBe(text);
  }
  expect(readdirSync(path.join(place, 'app')).sort()).toEqual(['Kptfile', 'functions', 'settings.yaml']);
});

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Processes that have inherited a value in their environment. */
function processesOf(value: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(value);
    } catch {
      return false;
    }
  });
}
