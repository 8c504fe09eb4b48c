import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ExportClient, readExportedFunction, splitLines } from './export-client.js';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serving(handler: RequestListener, timeoutMilliseconds = 2_000): Promise<ExportClient> {
  server = createServer(handler);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new ExportClient({ url, timeoutMilliseconds });
}

async function all(lines: AsyncIterable<Uint8Array>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(Buffer.from(line).toString());
  return found;
}

const pieces = async function* (...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
};

describe('splitLines', () => {
  it('returns the same lines for every chunking', async () => {
    const text = 'one\ntwo\n\nthree\n';
    for (let at = 0; at <= text.length; at++) {
      const found = await all(splitLines(pieces(text.slice(0, at), '', text.slice(at)), 'x'));
      expect(found).toEqual(['one', 'two', '', 'three']);
    }
    expect(await all(splitLines(pieces(), 'x'))).toEqual([]);
  });

  it('rejects lines that are too long, too many or incomplete', async () => {
    const limits = { maxLineBytes: 4, maxFunctions: 2 };
    const refused = (...texts: string[]) => all(splitLines(pieces(...texts), 'x', limits));
    await expect(refused('four\n')).resolves.toEqual(['four']);
    await expect(refused('fiv', 'es\n')).rejects.toThrow('a line exceeds 4 bytes');
    await expect(refused('fives')).rejects.toThrow('a line exceeds 4 bytes');
    await expect(refused('a\nb\nc\n')).rejects.toThrow('more than 2 lines');
    await expect(refused('a\nb')).rejects.toThrow('ends in the middle of a line');
  });

  it('parses functions and rejects other lines', () => {
    const read = (text: string) => readExportedFunction(Buffer.from(text), 'x');
    expect(read('{"group":"a.co","kind":"A","releases":[]}')).toEqual({
      group: 'a.co',
      kind: 'A',
      releases: [],
    });
    expect(() => read('{')).toThrow('not valid JSON');
    expect(() => read('{"group":"a.co","kind":"A"}')).toThrow('wrong type: "releases"');
    expect(() => read('{"group":"a.co","kind":"A","releases":[{"release":1}]}')).toThrow(
      'releases[0].release',
    );
    expect(() => readExportedFunction(Uint8Array.of(0xff), 'x')).toThrow('not valid JSON');
  });
});

describe('functionLines', () => {
  it('has no timeout while chunks arrive', async () => {
    const client = await serving((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      let count = 0;
      const timer = setInterval(() => {
        response.write(`${++count}\n`);
        if (count < 5) return;
        clearInterval(timer);
        response.end();
      }, 250);
    }, 1_000);
    expect(await all(client.functionLines())).toEqual(['1', '2', '3', '4', '5']);
  });

  it('fails if no chunk arrives within the timeout', async () => {
    const client = await serving((_, response) => {
      response.writeHead(200);
      response.write('1\n');
    }, 100);
    await expect(all(client.functionLines())).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('no response within 0.1 seconds'),
    });
  });

  it('has no timeout for a slow reader', async () => {
    const client = await serving((_, response) => response.end('1\n2\n'), 1_000);
    const found: string[] = [];
    for await (const line of client.functionLines()) {
      if (found.length === 0) await new Promise((resolve) => setTimeout(resolve, 1_200));
      found.push(Buffer.from(line).toString());
    }
    expect(found).toEqual(['1', '2']);
  });

  it('fails if the connection breaks', async () => {
    const client = await serving((_, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('1\n');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(all(client.functionLines())).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('fails with the error of the registry', async () => {
    const problem = {
      title: 'x',
      status: 503,
      code: 'unavailable',
      detail: 'too many exports at the same time',
    };
    const client = await serving((_, response) => {
      response.writeHead(503, { 'Content-Type': 'application/problem+json' });
      response.end(JSON.stringify(problem));
    });
    await expect(all(client.functionLines())).rejects.toMatchObject({
      code: 'unavailable',
      message: 'too many exports at the same time',
    });
  });
});
