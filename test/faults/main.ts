import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { injectFaults } from './campaign.js';
import { lockedDatabase, raceToPublish } from './contend.js';
import type { Outcome } from './kill.js';
import { checkPublishOrder } from './order.js';
import { startServer } from './server.js';
import { type Group, injectInSeveral } from './several.js';
import { canTrace } from './strace.js';
import { lossesOverHttp } from './verify.js';
import { newLedger } from './workload.js';

/** `npm run faults -- --count 1000`: injects that many faults and exits with 1 if any of them lost data. */
const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    count: { type: 'string', default: '1000' },
    workers: { type: 'string', default: String(Math.min(availableParallelism(), 4)) },
    processes: { type: 'string' },
    seed: { type: 'string', default: String(1 + (Date.now() % 1_000_000)) },
    scratch: { type: 'string', default: tmpdir() },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(
    `Injects faults into a registry that publishes, and checks after each for losses.⏎⏎  --count N      faults to inject, 1000 by default⏎  --workers N    servers, or registries of several processes, in parallel; default: one per processor, at most 4⏎  --processes N  that many processes of a registry with PostgreSQL and S3, with other faults⏎  --seed N       repeats the requests and faults of several processes⏎  --scratch DIR  parent of the data folders; default: the system's temporary folder⏎⏎Example:⏎  npm run faults -- --count 200`,
  );
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const count = positive('--count', values.count);
const workers = positive('--workers', values.workers);
const scratch = mkdtempSync(path.join(values.scratch, 'krmhub-faults-'));
const seed = positive('--seed', values.seed);
const kinds = new Map<string, number>();
const seen = { operations: 0, unavailableReads: 0, unanswered: 0 };
const losses: string[] = [];
let total = 0;
const began = performance.now();

if (values.processes !== undefined) {
  const processes = positive('--processes', values.processes);
  console.log(`seed ${seed}`);
  await injectInSeveral({ count, processes, workers, seed, scratch, clockMinutes: 5, report: reportGroup });
} else {
  await injectFaults({ count, workers, scratch, report });
  await section('order of writes and syncs in a trace', async () =>
    canTrace() ? checkPublishOrder(path.join(scratch, 'order'), 20) : [],
  );
  await section('a locked database, and 20 times 50 racers', contention);
}

console.log(`\n${total} faults in ${((performance.now() - began) / 60_000).toFixed(1)} minutes`);
if (values.processes !== undefined) {
  console.log(
    `seed ${seed}: ${seen.operations} operations, ${seen.unavailableReads} reads got 503, ` +
      `${seen.unanswered} requests got no response`,
  );
}
for (const [kind, number] of [...kinds].sort()) console.log(`  ${String(number).padStart(5)}  ${kind}`);
console.log(`${losses.length} losses`);
if (losses.length === 0 && total >= count) rmSync(scratch, { recursive: true, force: true });
else if (losses.length > 0) console.log(`Their data is in ${scratch}`);
if (total < count) console.log(`Fewer than ${count} faults were reached.`);
process.exitCode = losses.length === 0 && total >= count ? 0 : 1;

function report({ fault, injected, losses: lost }: Outcome): void {
  total += injected;
  const kind = fault.replace(/ (but for |after )?\d+( ms| bytes)?(?= |$)/, '');
  if (injected > 0) kinds.set(kind, (kinds.get(kind) ?? 0) + injected);
  for (const loss of lost) {
    losses.push(loss);
    console.log(`LOSS: ${fault}: ${loss}`);
  }
  if (Math.floor(total / 50) > Math.floor((total - injected) / 50)) {
    console.log(`${total} faults, ${losses.length} losses`);
  }
}

function reportGroup(group: Group): void {
  const { registry, faults, operations, unavailableReads, unanswered, losses: lost, milliseconds } = group;
  total += faults.length;
  seen.operations += operations;
  seen.unavailableReads += unavailableReads;
  seen.unanswered += unanswered;
  for (const fault of faults) kinds.set(fault, (kinds.get(fault) ?? 0) + 1);
  for (const loss of lost) {
    losses.push(loss);
    console.log(`LOSS: ${loss}`);
  }
  if (faults.length === 0) return;
  console.log(
    `registry ${registry}: ${faults.length} faults in ${Math.round(milliseconds / 1_000)} seconds, ` +
      `${operations} operations, ${unavailableReads} reads got 503, ` +
      `${unanswered} requests got no response, ${lost.length} losses; ` +
      `in all ${total} faults, ${losses.length} losses`,
  );
}

async function section(name: string, work: () => Promise<string[]>): Promise<void> {
  const found = await work();
  console.log(`${name}: ${found.length === 0 ? 'as promised' : `${found.length} problems`}`);
  for (const loss of found) {
    losses.push(loss);
    console.log(`LOSS: ${name}: ${loss}`);
  }
}

async function contention(): Promise<string[]> {
  const data = path.join(scratch, 'contention');
  const server = await startServer(data);
  if (server === undefined) return ['the server does not start'];
  try {
    const ledger = newLedger();
    const found = await lockedDatabase(server, data, ledger);
    for (let round = 0; round < 20; round++) found.push(...(await raceToPublish(server, 50, round)));
    return [...found, ...(await lossesOverHttp(server, ledger))];
  } finally {
    await server.stop('SIGTERM');
  }
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`${name}: "${text}" is not a whole number above 0`);
  process.exit(2);
}
