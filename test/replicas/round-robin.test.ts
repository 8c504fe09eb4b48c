import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { OciRequests } from '../conformance/oci-requests.js';
import { type RoundRobin, startRoundRobin } from './round-robin.js';

const open: (Server | RoundRobin)[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) {
    if ('closeAllConnections' in one) one.closeAllConnections();
    await one.close();
  }
});

async function behind(...handlers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const urls: string[] = [];
  for (const handler of handlers) {
    const server = createServer(handler).listen(0, '127.0.0.1');
    open.push(server);
    await once(server, 'listening');
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  const balancer = await startRoundRobin(urls);
  open.push(balancer);
  return { balancer, urls };
}

it('sends two requests of a client to different processes, and changes nothing', async () => {
  const echo = (name: string) => async (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('Server-Timing', [name, 'twice']);
    response.writeHead(202, 'As it was said');
    response.end(`${request.rawHeaders.join('\n')}\n${request.method} ${request.url} ${await text(request)}`);
  };
  const { balancer, urls } = await behind(echo('first'), echo('second'));
  const target = '/a%2Fb?c=%20';
  const requests = new OciRequests(balancer.url);
  for (const [at, name] of ['first', 'second', 'first'].entries()) {
    const body = Buffer.from('a body');
    const sent = { headers: { 'X-Mixed-Case': ['one', 'two'] }, body, chunked: at === 1 };
    const answer = await requests.send('PUT', target, sent);
    expect([answer.status, answer.headers['server-timing']]).toEqual([202, `${name}, twice`]);
    const url = urls[at % 2]!;
    const direct = await new OciRequests(url).send('PUT', target, sent);
    const host = (from: string) => new URL(from).host;
    expect(answer.body.toString()).toBe(direct.body.toString().replace(host(url), host(balancer.url)));
    expect(answer.body.toString()).toContain(`PUT ${target} a body`);
  }
});

it('ends an upload that its client ends', async () => {
  let began: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    began = resolve;
  });
  let ended: (whole: boolean) => void = () => undefined;
  const isWhole = new Promise<boolean>((resolve) => {
    ended = resolve;
  });
  const { balancer } = await behind((request) => {
    request.on('error', () => undefined).on('close', () => ended(request.complete));
    request.once('data', began);
  });
  const socket = connect(Number(new URL(balancer.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf');
  await hasBegun;
  socket.destroy();
  expect(await isWhole).toBe(false);
});

it('responds with 502 for a process that is gone', async () => {
  const gone = await startRoundRobin(['http://127.0.0.1:9']);
  open.push(gone);
  expect((await fetch(gone.url)).status).toBe(502);
});
