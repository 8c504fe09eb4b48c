import { bytes, milliseconds, perSecond } from '../figures.js';
import { getLoad, pushLoad } from '../load.js';
import { alternate, ratio, spread } from '../measure.js';
import { startDockerRegistry } from '../peers.js';
import { hasProcessFigures, readMemory, readProcessorTime } from '../process-figures.js';
import { atLeast, type Bench, type Line, type Row, Unmeasured } from '../row.js';
import { startServer } from '../server.js';

const REPOSITORY = 'bench/blobs';
const IMAGE = 'application/vnd.oci.image.manifest.v1+json';
/** Pushes in flight. */
const AT_A_TIME = 4;
const MEGABYTE = 1_000_000;
/** Blobs that a round pushes: for about a second, of which a new client takes little. The target is a ratio of pushes. */
const SIZES: readonly { bytes: number; count: number; target: number }[] = [
  { bytes: MEGABYTE / 100, count: 1_000, target: 8 },
  { bytes: MEGABYTE, count: 200, target: 2.8 },
  { bytes: 10 * MEGABYTE, count: 20, target: 1.3 },
  { bytes: 100 * MEGABYTE, count: 8, target: 1.8 },
];

interface Side {
  origin: string;
  pid: number;
  authorization?: string;
}
/** Small blobs that are pushed first: until its code is compiled, a server of Node.js takes three times as long. */
const WARM_UP = 2_000;

type Sides = Record<'krmhub' | 'peer', Side>;

export const artifacts: Row = {
  name: 'artifacts',
  title: 'OCI artifacts',
  async run(bench, functions) {
    const { tools, folders, effort, report } = bench;
    if (!tools.dockerRegistry) throw new Unmeasured('docker-registry is not installed');
    const filled = await folders.filled(functions);
    const server = await startServer(tools, await folders.copy(filled));
    const scratch = await folders.scratch();
    const peer = await startDockerRegistry(tools, scratch);
    try {
      const authorization = `Basic ${Buffer.from(`bench:${server.token}`).toString('base64')}`;
      const sides: Sides = {
        krmhub: { origin: server.url, pid: server.pid, authorization },
        peer: { origin: peer.origin, pid: peer.pid },
      };
      const lines: Line[] = [];
      if (!effort.quick) {
        report('artifacts: warm-up');
        const plan = {
          repository: REPOSITORY,
          bytes: MEGABYTE / 100,
          count: WARM_UP,
          connections: AT_A_TIME,
        };
        for (const side of Object.values(sides)) await pushLoad(tools, { ...side, ...plan }, scratch);
      }
      for (const size of effort.quick ? SIZES.slice(0, 1) : SIZES) {
        lines.push(...(await measureBlobs(bench, scratch, sides, size)));
      }
      lines.push(...(await measureManifests(bench, scratch, sides)));
      if (hasProcessFigures) lines.push(await measureMemory(bench, scratch, sides.krmhub, server.pid));
      return lines.map((line) => ({ ...line, functions }));
    } finally {
      await peer.stop();
      await server.stop();
    }
  },
};

async function measureBlobs(
  { tools, effort, report }: Bench,
  scratch: string,
  sides: Sides,
  size: (typeof SIZES)[number],
): Promise<Omit<Line, 'functions'>[]> {
  const name = bytes(size.bytes);
  report(`artifacts: ${name}`);
  const digests: Record<string, string> = {};
  const processorTimes: Record<keyof Sides, number[]> = { krmhub: [], peer: [] };
  const push = (side: keyof Sides) => async () => {
    const count = effort.quick ? 1 : size.count;
    const { pid, ...target } = sides[side];
    const plan = { ...target, repository: REPOSITORY, bytes: size.bytes, count, connections: AT_A_TIME };
    const before = readProcessorTime(pid);
    const result = await pushLoad(tools, plan, scratch);
    processorTimes[side].push((readProcessorTime(pid) - before) / count / 1000);
    digests[side] = result.digests[0]!;
    return count / result.seconds;
  };
  const pushes = { krmhub: push('krmhub'), peer: push('peer') };
  if (!effort.quick) await alternate(1, pushes);
  const pushed = await alternate(effort.rounds, pushes);
  const [ours, theirs] = [processorTimes.krmhub, processorTimes.peer].map((times) => spread(times).median);
  const beside = `CPU per push: krmhub ${milliseconds(ours!)}, docker-registry ${milliseconds(theirs!)}`;
  const pull = (side: keyof Sides) => async () => {
    const path = `/v2/${REPOSITORY}/blobs/${digests[side]}`;
    const load = { origin: sides[side].origin, paths: [path], milliseconds: effort.milliseconds, scratch };
    return (await getLoad(tools, load)).perSecond;
  };
  const pulled = await alternate(effort.rounds, { krmhub: pull('krmhub'), peer: pull('peer') });
  return [
    {
      ...toLine(`push of ${name}, ${AT_A_TIME} at a time`, pushed, size.target, effort.quick, size.bytes),
      beside,
    },
    toLine(`pull of ${name}`, pulled, 1, effort.quick, size.bytes),
  ];
}

async function measureManifests(
  { tools, effort, report }: Bench,
  scratch: string,
  sides: Sides,
): Promise<Omit<Line, 'functions'>[]> {
  report('artifacts: manifests');
  for (const side of Object.values(sides)) await putManifest((plan) => pushLoad(tools, plan, scratch), side);
  const lines: Omit<Line, 'functions'>[] = [];
  for (const method of ['GET', 'HEAD'] as const) {
    const ask = (side: keyof Sides) => async () => {
      const path = `/v2/${REPOSITORY}/manifests/v1`;
      const { origin } = sides[side];
      const headers = { Accept: IMAGE };
      const load = { origin, method, paths: [path], headers, milliseconds: effort.milliseconds, scratch };
      return (await getLoad(tools, load)).perSecond;
    };
    const measured = await alternate(effort.rounds, { krmhub: ask('krmhub'), peer: ask('peer') });
    lines.push(toLine(`${method} of a manifest by tag`, measured, 1, effort.quick));
  }
  return lines;
}

/** Pushes an artifact of one blob, with the tag `v1`. */
async function putManifest(
  push: (plan: Parameters<typeof pushLoad>[1]) => ReturnType<typeof pushLoad>,
  { origin, authorization }: Side,
): Promise<void> {
  const plan = { origin, repository: REPOSITORY, bytes: 1_000, count: 1, connections: 1 };
  const { digests } = await push({ ...plan, ...(authorization === undefined ? {} : { authorization }) });
  const blob = { mediaType: 'application/octet-stream', digest: digests[0]!, size: 1_000 };
  const answer = await fetch(`${origin}/v2/${REPOSITORY}/manifests/v1`, {
    method: 'PUT',
    headers: {
      'Content-Type': IMAGE,
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
    body: JSON.stringify({ schemaVersion: 2, mediaType: IMAGE, config: blob, layers: [blob] }),
  });
  if (answer.status !== 201) throw new Error(`${origin}: manifest: ${answer.status} ${await answer.text()}`);
}

/** Server memory during a push of a gigabyte; a blob is never in memory as a whole. */
async function measureMemory(
  { tools, effort, report }: Bench,
  scratch: string,
  side: Side,
  pid: number,
): Promise<Omit<Line, 'functions'>> {
  const size = effort.quick ? 10 * MEGABYTE : 1_000 * MEGABYTE;
  report(`artifacts: memory while ${bytes(size)} are pushed`);
  const before = readMemory(pid);
  await pushLoad(tools, { ...side, repository: REPOSITORY, bytes: size, count: 1, connections: 1 }, scratch);
  const after = readMemory(pid);
  return {
    row: 'artifacts',
    what: `memory while ${bytes(size)} are pushed`,
    ours: `${bytes(before.now)} before, ${bytes(after.now)} after`,
    beside: `peak ${bytes(after.peak)}, before ${bytes(before.peak)}`,
    figures: { beforeBytes: before.now, afterBytes: after.now, peakBytes: after.peak },
  };
}

function toLine(
  what: string,
  measured: Record<'krmhub' | 'peer', number[]>,
  target: number,
  quick: boolean,
  size?: number,
): Omit<Line, 'functions'> {
  const against = ratio(measured.krmhub, measured.peer);
  const [ours, theirs] = [spread(measured.krmhub).median, spread(measured.peer).median];
  const volume = (rate: number) => (size === undefined ? '' : `, ${bytes(rate * size)}/s`);
  return {
    row: 'artifacts',
    what,
    ours: `${perSecond(ours)}${volume(ours)}`,
    against: `docker-registry ${perSecond(theirs)}${volume(theirs)}`,
    ratio: against,
    ...(quick ? {} : { target: atLeast(against, target) }),
    figures: { oursPerSecond: ours, peerPerSecond: theirs },
  };
}
