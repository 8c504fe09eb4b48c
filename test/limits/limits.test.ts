import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../apps/registry/src/limits.js';
import { rawRequest } from '../hostile/raw-request.js';
import { type RunningRegistry, startRegistry, temporaryFolder } from '../running.js';
import { documents, locks, recipes } from './document-limits.js';
import { requestLimits } from './request-limits.js';

/**
 * Every limit that a client can reach, on both sides: a value at the limit passes, one beyond is refused
 * with a reason.
 */

const { folder, remove } = temporaryFolder();
let registry: RunningRegistry;

beforeAll(async () => {
  registry = await startRegistry(path.join(folder, 'data'));
});
afterAll(async () => {
  expect(await registry.stop()).toBe(0);
  remove();
});

const requests = requestLimits(() => registry);

describe.each([
  ['a document', documents],
  ['a recipe', recipes],
  ['a lock file', locks],
  ['a request', requests],
])('limits on %s', (_, limits) => {
  it.each(limits.map((one) => [one.name, one] as const))('%s', async (_name, { limit, attempt, says }) => {
    expect(await attempt(limit)).toBeUndefined();
    const outcome = await attempt(limit + 1);
    if (typeof says === 'string') expect(outcome).toBe(says);
    else expect(outcome).toMatch(says);
  });
});

describe('limits on a connection', () => {
  it('maxHeaderBytes', async () => {
    const { maxHeaderBytes } = SERVER_LIMITS;
    const head = (value: string) =>
      `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ${value}\r\n\r\n`;
    const fits = await rawRequest(registry.url, head('x'.repeat(maxHeaderBytes - head('').length)));
    expect(fits.status).toBe(200);
    const beyond = await rawRequest(registry.url, head('x'.repeat(maxHeaderBytes)));
    expect(beyond.status).toBe(431);
    expect(beyond.received).toContain(`exceed ${maxHeaderBytes} bytes`);
  });

  it('bodyMilliseconds accepts a slow body (test/hostile/socket.test.ts has one that is too slow)', async () => {
    const body = '{"name":"slow","scopes":["yank"]}';
    const head = `POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${registry.token}\r\nContent-Type: application/json\r\nConnection: close\r\n`;
    const pieces = [...body].map((character) => `1\r\n${character}\r\n`);
    const answer = await rawRequest(registry.url, `${head}Transfer-Encoding: chunked\r\n\r\n`, {
      patience: 20_000,
      more: (socket) => {
        const timer = setInterval(() => {
          const piece = pieces.shift();
          if (piece === undefined) clearInterval(timer);
          socket.write(piece ?? '0\r\n\r\n');
        }, 50);
      },
    });
    expect(answer.status).toBe(201);
  });
});
