// A KRM function that does what its functionConfig names: for tests of runtimes. With the argument "child" it is a process
// that ends only when it is killed.
import { spawn } from 'node:child_process';
import { ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';

const self = process.argv[1];
const stay = () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined);
  setInterval(() => undefined, 1_000);
};
const child = (options) => spawn(process.execPath, [self, 'child'], options).unref();
const list = (more = {}) =>
  JSON.stringify({ apiVersion: 'config.kubernetes.io/v1', kind: 'ResourceList', items: [], ...more });
const print = (text) => process.stdout.write(text);

const actions = {
  echo: (input) => print(input),
  fail: (input) => {
    process.stderr.write('it failed\n');
    print(input);
    process.exitCode = 3;
  },
  results: () =>
    print(
      list({
        results: [{ message: 'too many replicas', severity: 'warning', field: { path: 'spec.replicas' } }],
      }),
    ),
  silent: () => undefined,
  documents: () => print('apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Secret\n'),
  text: () => print('starting the function\n'),
  unnamed: () => print('apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n'),
  endless: () => {
    const piece = Buffer.alloc(65_536, 'x');
    for (;;) writeSync(1, piece);
  },
  flood: (input) => {
    const piece = Buffer.alloc(65_536, 'x');
    for (let count = 0; count < 64; count++) writeSync(2, piece);
    print(input);
  },
  environment: () => print(list({ items: [{ data: process.env }] })),
  hang: stay,
  fork: () => {
    child({ stdio: 'inherit' });
    stay();
  },
  leave: (input) => {
    child({ stdio: 'inherit' });
    print(input);
  },
  escape: (input) => {
    child({ stdio: 'ignore', detached: true });
    print(input);
  },
  keep: (input) => {
    child({ stdio: 'inherit', detached: true });
    print(input);
  },
  fill: (_, { bytes }) => {
    try {
      ftruncateSync(openSync(`${tmpdir()}/filled`, 'w'), bytes);
      print(list({ results: [{ message: 'written' }] }));
    } catch ({ code }) {
      print(list({ results: [{ message: code }] }));
    }
  },
  connect: (_, { port }) => {
    const socket = connect(port, '127.0.0.1', () => {
      print(list({ results: [{ message: 'connected' }] }));
      socket.destroy();
    });
    socket.on('error', ({ code }) => print(list({ results: [{ message: code }] })));
  },
  crash: () => process.kill(process.pid, 'SIGSEGV'),
};

if (process.argv[2] === 'child') stay();
else {
  const input = readFileSync(0);
  const { functionConfig } = JSON.parse(input);
  actions[functionConfig.action](input, functionConfig);
}
