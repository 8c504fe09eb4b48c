import { Agent, get as getHttp } from 'node:http';
import {
  type AccessDocument,
  AccessRules,
  can,
  type GroupRule,
  NO_ACCESS,
  type Team,
  tokenActor,
} from '@krmhub/catalog';
import { number, percentiles, perSecond } from '../figures.js';
import { clientLoad, getLoad } from '../load.js';
import { alternate, latency, ratio, spread } from '../measure.js';
import { readProcessorTime } from '../process-figures.js';
import { chooseQueries, searchPath } from '../queries.js';
import { atMost, type Bench, type Line, type Row } from '../row.js';
import { type Server, startServer, waitForBuild } from '../server.js';

/** Rules and grants of a large registry. */
const RULES = 500;
const GRANTS = 200;
const TARGET_MICROSECONDS = 5;
/** Reads of each side of the comparison of what is hidden and what does not exist. */
const COMPARED = 1_000;

/** The same registry twice, of which one has rules that hide a group. */
export const access: Row = {
  name: 'access',
  title: 'reads of a registry that hides something',
  async run(bench, functions) {
    const { tools, folders } = bench;
    const filled = await folders.filled(functions);
    const servers: Server[] = [];
    try {
      const open = await startServer(tools, await folders.copy(filled));
      servers.push(open);
      const hiding = await startServer(tools, await folders.copy(filled));
      servers.push(hiding);
      for (const server of servers) await waitForBuild(server, functions, 600);
      const { groups, names } = filled.corpus;
      const hidden = groups.at(-1)!;
      await applyAccess(hiding, accessDocument(hidden));
      const scratch = await folders.scratch();
      const context = { bench, functions, open, hiding, scratch };
      const shown = names.filter(({ group }) => group !== hidden);
      const paths = shown.map(({ group, kind }) => `/api/v1/functions/${group}/${kind}`);
      const entries = shown.map(({ group, kind }) => `/catalogs/default/functions/${group}/${kind}.yaml`);
      const queries = Object.values(chooseQueries(filled.corpus)).flat().map(searchPath);
      return [
        await reads(context, 'anonymous entries of a catalog', entries),
        await reads(context, 'anonymous functions', paths),
        await searches(context, queries),
        await absence(context, names.find(({ group }) => group === hidden)!),
        decisions(bench),
      ];
    } finally {
      for (const server of servers) await server.stop();
    }
  },
};

interface Context {
  bench: Bench;
  functions: number;
  open: Server;
  hiding: Server;
  scratch: string;
}

function rules(hidden: string): Pick<AccessDocument, 'groups' | 'teams' | 'grants'> {
  const teams: Team[] = Array.from({ length: 50 }, (_, at) => ({ name: `team-${at}`, members: [] }));
  const owned: GroupRule[] = Array.from({ length: RULES - 1 }, (_, at) => ({
    pattern: at % 5 === 0 ? `*.area-${at}.example.org` : `group-${at}.example.org`,
    owner: `team-${at % 50}`,
    visibility: at % 2 === 0 ? 'internal' : 'private',
    functions: [],
  }));
  const grants = Array.from({ length: GRANTS }, (_, at) => ({
    team: `team-${at % 50}`,
    may: ['read' as const],
    in: { group: `*.area-${at * 2}.example.org` },
  }));
  return { teams, grants, groups: [...owned, { pattern: hidden, visibility: 'private', functions: [] }] };
}

function accessDocument(hidden: string): string {
  const { teams, groups, grants } = rules(hidden);
  const list = (items: readonly object[]) => items.map((one) => `  - ${JSON.stringify(one)}\n`).join('');
  return `apiVersion: krmhub.dev/v1alpha1
kind: Access
metadata: {name: registry}
spec:
  openGroups: ["*"]
  teams:
${list(teams.map(({ name }) => ({ name })))}  groups:
${list(groups.map(({ functions: _, ...rule }) => rule))}  grants:
${list(grants.map(({ team, ...grant }) => ({ to: { team }, ...grant })))}`;
}

async function applyAccess({ url, token }: Server, text: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/yaml' };
  const applied = await fetch(`${url}/api/v1/access`, { method: 'PUT', headers, body: text });
  if (!applied.ok) throw new Error(`the Access document: ${applied.status} ${await applied.text()}`);
  // The catalog without what is hidden.
  await fetch(`${url}/api/v1/catalogs/default/cut`, { method: 'POST', headers });
}

async function reads(
  { bench: { tools, effort, report }, functions, open, hiding, scratch }: Context,
  what: string,
  paths: readonly string[],
): Promise<Line> {
  report(`access: ${what}`);
  const load = async ({ url, pid }: Server) => {
    const before = readProcessorTime(pid);
    const { requests, perSecond } = await getLoad(tools, {
      origin: url,
      paths,
      milliseconds: effort.milliseconds,
      scratch,
    });
    return { perSecond, microseconds: (readProcessorTime(pid) - before) / requests };
  };
  // Both compile what they run first.
  for (const server of [open, hiding]) await load(server);
  const rounds = await alternate(effort.rounds, { hiding: () => load(hiding), open: () => load(open) });
  const times = (side: 'hiding' | 'open') => rounds[side].map(({ microseconds }) => microseconds);
  const rate = (side: 'hiding' | 'open') => spread(rounds[side].map((one) => one.perSecond)).median;
  // What else the machine does slows both, and takes no processor time of theirs.
  const against = ratio(times('hiding'), times('open'));
  const [ours, theirs] = [spread(times('hiding')).median, spread(times('open')).median];
  return {
    row: 'access',
    what,
    functions,
    ours: `${number(ours)} µs of processor time`,
    against: `nothing hidden ${number(theirs)} µs`,
    ratio: against,
    beside: `${perSecond(rate('hiding'))}, nothing hidden ${perSecond(rate('open'))}`,
    ...(effort.quick ? {} : { target: atMost(against, 1.05) }),
    figures: { oursMicroseconds: ours, openMicroseconds: theirs, oursPerSecond: rate('hiding') },
  };
}

async function searches(
  { bench: { tools, effort, report }, functions, open, hiding, scratch }: Context,
  paths: readonly string[],
): Promise<Line> {
  report('access: search');
  const requests = paths.map((path) => ({ method: 'GET', path }));
  const all: Record<'hiding' | 'open', number[]> = { hiding: [], open: [] };
  const load = (side: keyof typeof all, server: Server) => async () => {
    const plan = { origin: server.url, requests, connections: 1, milliseconds: effort.milliseconds };
    const found = await clientLoad(tools, plan, scratch);
    all[side].push(...found.milliseconds);
    return latency(found.milliseconds).p50;
  };
  const rounds = await alternate(effort.rounds, { hiding: load('hiding', hiding), open: load('open', open) });
  const against = ratio(rounds.hiding, rounds.open);
  const [ours, theirs] = [latency(all.hiding), latency(all.open)];
  return {
    row: 'access',
    what: 'anonymous search',
    functions,
    ours: percentiles(ours),
    against: `nothing hidden ${percentiles(theirs)}`,
    ratio: against,
    ...(effort.quick ? {} : { target: atMost(against, 1.05) }),
    figures: { oursP50: ours.p50, oursP99: ours.p99, openP50: theirs.p50, openP99: theirs.p99 },
  };
}

/** Times reads of one hidden function and of one that does not exist, in turn, over one connection. */
async function absence(
  { bench: { effort, report }, functions, hiding }: Context,
  { group, kind }: { group: string; kind: string },
): Promise<Line> {
  report('access: hidden and absent');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const time = async (name: string) => {
    const started = performance.now();
    await new Promise<void>((resolve, reject) => {
      getHttp(`${hiding.url}/api/v1/functions/${group}/${name}`, { agent }, (response) => {
        response
          .resume()
          .on('end', () => resolve())
          .on('error', reject);
      }).on('error', reject);
    });
    return performance.now() - started;
  };
  // A name of the same length, so that the same bytes are sent and received.
  const absent = `${kind.slice(0, -1)}${kind.endsWith('q') ? 'k' : 'q'}`;
  const count = effort.quick ? 50 : COMPARED;
  for (let warm = 0; warm < count; warm++) await time(warm % 2 === 0 ? kind : absent);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < count; turn++) {
    // Neither side always comes first.
    const pair = [
      () => time(kind).then((ms) => ours.push(ms)),
      () => time(absent).then((ms) => theirs.push(ms)),
    ];
    for (const next of turn % 2 === 0 ? pair : pair.reverse()) await next();
  }
  agent.destroy();
  const [hidden, missing] = [latency(ours), latency(theirs)];
  const { z, larger } = rankTest(ours, theirs);
  return {
    row: 'access',
    what: 'hidden function, in turn with one that does not exist',
    functions,
    ours: percentiles(hidden),
    against: `absent ${percentiles(missing)}`,
    ratio: spread([hidden.p50 / missing.p50]),
    beside: `${count} of each; the hidden one takes longer in ${number(larger * 100)}% of all pairs, z ${number(z)}`,
    figures: { hiddenP50: hidden.p50, absentP50: missing.p50, z, largerShare: larger },
  };
}

/** The test of Mann and Whitney: 0.5 and a z between -2 and 2 if the two sides are alike. */
function rankTest(ours: readonly number[], theirs: readonly number[]): { z: number; larger: number } {
  const all = [
    ...ours.map((value) => ({ value, isOurs: true })),
    ...theirs.map((value) => ({ value, isOurs: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  const rankSum = all.reduce((sum, { isOurs }, at) => sum + (isOurs ? at + 1 : 0), 0);
  const [m, n] = [ours.length, theirs.length];
  const u = rankSum - (m * (m + 1)) / 2;
  return { z: (u - (m * n) / 2) / Math.sqrt((m * n * (m + n + 1)) / 12), larger: u / (m * n) };
}

/** Times decisions of one process about many groups, which no cache has all. */
function decisions({ effort, report }: Bench): Line {
  report('access: can');
  const made = new AccessRules({ ...NO_ACCESS, ...rules('hidden.example.org') }, [], 'bench');
  const scopes = ['read', 'publish'];
  const actor = tokenActor(made, {
    id: 'a',
    name: 'a',
    scopes,
    groups: ['*'],
    repositories: ['*'],
    team: 'team-7',
  });
  const groups = Array.from(
    { length: 2_000 },
    (_, at) => `${at % 3 === 0 ? 'x.area' : 'group'}-${at % 700}.example.org`,
  );
  const decide = (count: number) => {
    for (let at = 0; at < count; at++)
      can(made, actor, 'read', { group: groups[at % groups.length]!, kind: 'SetLabels' });
  };
  const count = effort.quick ? 20_000 : 200_000;
  decide(count);
  const rounds = Array.from({ length: effort.rounds }, () => {
    const started = performance.now();
    decide(count);
    return ((performance.now() - started) * 1_000) / count;
  });
  const found = spread(rounds);
  return {
    row: 'access',
    what: `one decision with ${RULES} rules and ${GRANTS} grants`,
    ours: `${number(found.median)} µs`,
    ...(effort.quick
      ? {}
      : { target: { text: `≤ ${TARGET_MICROSECONDS} µs`, met: found.median <= TARGET_MICROSECONDS } }),
    beside: `up to ${number(found.high)} µs`,
    figures: { microseconds: found.median },
  };
}
