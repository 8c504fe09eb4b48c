import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runTest, testIo } from '../testing/command-line.js';
import { write, writeData, writeRaw } from './io.js';

const HOSTILE = 'x\u001b[2J\u001b]0;title\u0007\u001b[8m\u009b31m\u202e\r\n\u001b[1A\u200b\u007f';
/** What could control a terminal, besides line breaks, tabs, and colors. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e]/;
const COLORS = /\u001b\[(?:[12]|22|3[0-79])m/g;

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function hostileRegistry(): Promise<string> {
  const diagnostic = { severity: 'warning', file: HOSTILE, path: HOSTILE, message: HOSTILE, hint: HOSTILE };
  const problem = {
    type: 'about:blank',
    title: HOSTILE,
    status: 422,
    code: 'invalid-document',
    detail: HOSTILE,
    hint: HOSTILE,
    diagnostics: [
      { ...diagnostic, code: HOSTILE },
      // Of a later version.
      { ...diagnostic, code: HOSTILE, severity: 'notice' },
      {
        ...diagnostic,
        code: HOSTILE,
        severity: 'error',
        range: { start: { line: 1, column: 1 }, end: { line: 1, column: 2 } },
      },
    ],
  };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(422, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem));
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.on('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const definition = path.resolve(
  import.meta.dirname,
  '../../../../test/fixtures/functions/set-labels/2.0.0.yaml',
);

describe('a hostile registry', () => {
  it.each([
    ['search'],
    ['show', 'example.com/SetLabels'],
    ['releases', 'example.com/SetLabels'],
    ['whoami', '-o', 'json'],
    ['publish', definition],
    ['publish', definition, '--dry-run'],
    ['diff', 'example.com/SetLabels@1.0.0', 'example.com/SetLabels@2.0.0'],
    ['policy', 'list'],
    ['catalog', 'list'],
    ['source', 'list'],
    ['repo', 'list'],
  ])('cannot control the terminal of %s %s', async (...args) => {
    const url = await hostileRegistry();
    const env = { KRMHUB_REGISTRY: url, KRMHUB_TOKEN: `krmhub_${'a'.repeat(72)}` };
    for (const tty of [false, true]) {
      const io = await runTest(args, { env, tty });
      expect(io.err()).toContain('error');
      const text = tty ? io.err().replace(COLORS, '').replaceAll('\r\u001b[2K', '') : io.err();
      expect(text).not.toMatch(CONTROLS);
      expect(tty ? io.out().replace(COLORS, '') : io.out()).not.toMatch(CONTROLS);
    }
  });
});

describe('output', () => {
  it('of text has only the codes of colors, on a terminal', async () => {
    for (const tty of [false, true]) {
      const io = testIo({ tty });
      await write(io.stdout, `${HOSTILE}\u001b[31mred\u001b[39m\ttab\n`);
      expect(io.out().replace(COLORS, '')).not.toMatch(CONTROLS);
      expect(io.out().includes('\u001b[31mred\u001b[39m\ttab\n')).toBe(tty);
      expect(io.out().includes('\u001b')).toBe(tty);
    }
  });

  it('of a document is exact for a program, and text on a terminal', async () => {
    for (const data of [HOSTILE, Buffer.from(HOSTILE)]) {
      const pipe = testIo();
      await writeData(pipe.stdout, data);
      expect(pipe.out()).toBe(HOSTILE);
      const terminal = testIo({ tty: true });
      await writeData(terminal.stdout, data);
      expect(terminal.out()).not.toMatch(CONTROLS);
    }
  });

  it('of the progress line is as it is', async () => {
    const io = testIo({ tty: true });
    await writeRaw(io.stderr, '\r\u001b[2K');
    expect(io.err()).toBe('\r\u001b[2K');
  });
});
