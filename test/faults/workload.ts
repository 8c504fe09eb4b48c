import { sha256 } from '@krmhub/schema';
import { type Ask, pushRound, type SentArtifacts } from './artifacts.js';

/** The requests that a registry has to store, and its acknowledgments. */
export interface Ledger {
  /** By release path: everything that was sent. */
  sent: Map<string, Sent>;
  artifacts: SentArtifacts;
  /** Responses that no fault may cause. */
  wrongResponses: string[];
}

export interface Sent {
  kind: string;
  release: string;
  body: string;
  readme?: string;
  /** Whether the publish got 200 or 201. */
  acknowledged: boolean;
  /** Whether the yank did. */
  yanked: boolean;
}

export const newLedger = (): Ledger => ({
  sent: new Map(),
  artifacts: new Map(),
  wrongResponses: [],
});

export const GROUP = 'faults.example.com';
export const releasePath = ({ kind, release }: Pick<Sent, 'kind' | 'release'>) =>
  `/api/v1/functions/${GROUP}/${kind}/releases/${release}`;

/** Lines that make a definition or a README too large for a row. */
export const LARGE = '# large\n'.repeat(10_000);

/** Publishes that write more pages than the log has before it is moved. */
const LOG_PUBLISHES = 320;

/** About 4 KB, like published definitions. */
export function definition(kind: string, release: string, remark = ''): string {
  const properties = Array.from(
    { length: 24 },
    (_, at) => `
          field${at}: {type: string, description: "What ${kind} ${release} does with field ${at}, in the words of its author. ${remark}"}`,
  ).join('');
  return `apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: ${GROUP}
  names: {kind: ${kind}}
  description: Published during a power failure, release ${release}.
  publisher: Example Co
  tags: [mutator, ${kind.toLowerCase()}]
  versions:
  - name: v1
    idempotent: true
    license: Apache-2.0
    usage: https://example.com/${kind}/README.md
    examples: [https://example.com/${kind}/example.md]
    runtime: {container: {image: 'registry.example.com/faults:v${release}', sha256: ${sha256(release).slice(7)}}}
    schema:
      openAPIV3Schema:
        type: object
        description: How ${kind} is configured.
        properties:${properties}
`;
}

interface Target {
  url: string;
  token: string;
}

/** Statuses that a registry may give to a write while its disk or database fails. */
const ALLOWED = new Set([200, 201, 202, 503, 507]);

/**
 * A round of publisher work: new releases, the same one again, a yank, an artifact. Everything is recorded in the
 * ledger before it is sent. Returns the statuses; 0 is a broken connection.
 */
export async function work(target: Target, ledger: Ledger, round: number): Promise<number[]> {
  const first: Sent = {
    kind: `Fn${round % 5}`,
    release: `1.${round}.0`,
    body: definition(`Fn${round % 5}`, `1.${round}.0`),
    readme: `# README of round ${round}\n${LARGE}`,
    acknowledged: false,
    yanked: false,
  };
  const second: Sent = {
    kind: `Fn${(round + 1) % 5}`,
    release: `2.${round}.0-rc.1`,
    body: definition(`Fn${(round + 1) % 5}`, `2.${round}.0-rc.1`),
    // Each round has files of both kinds: definitions are rows, READMEs are blobs.
    readme: `# README of another release of round ${round}\n${LARGE}`,
    acknowledged: false,
    yanked: false,
  };
  const statuses = [
    await publish(target, ledger, first, ''),
    await publish(target, ledger, second, '?wait=true'),
    await publish(target, ledger, first, ''),
  ];
  if (round % 3 === 0 && first.acknowledged) statuses.push(await yank(target, ledger, first));
  const ask: Ask = (at, path, { headers = {}, ...rest }) =>
    answer(at, ledger, path, () => ({ headers, ...rest }));
  return [...statuses, ...(await pushRound(ask, target, ledger.artifacts, round))];
}

/** Publishes in parallel, so much that the log of the database is moved at least once. Returns the statuses. */
export async function fillLog(target: Target, ledger: Ledger, round: number): Promise<number[]> {
  const waiting = Array.from({ length: LOG_PUBLISHES }, (_, at): Sent => {
    const kind = `Wide${at % 30}`;
    const release = `1.${round}.${at}`;
    return {
      kind,
      release,
      body: `${definition(kind, release)}${LARGE.slice(0, 40_000)}`,
      acknowledged: false,
      yanked: false,
    };
  });
  const statuses: number[] = [];
  const publisher = async () => {
    for (let sent = waiting.shift(); sent !== undefined; sent = waiting.shift()) {
      const status = await publish(target, ledger, sent, '');
      statuses.push(status);
      if (status === 0) return;
    }
  };
  await Promise.all(Array.from({ length: 8 }, publisher));
  return statuses;
}

export async function publish(target: Target, ledger: Ledger, sent: Sent, query: string): Promise<number> {
  ledger.sent.set(releasePath(sent), sent);
  const status = await send(target, ledger, `${releasePath(sent)}${query}`, () => ({
    method: 'PUT',
    ...submission(sent),
  }));
  if (status === 200 || status === 201) sent.acknowledged = true;
  return status;
}

function submission({ body, readme }: Sent): { body: string | FormData; headers: Record<string, string> } {
  if (readme === undefined) return { body, headers: { 'content-type': 'application/yaml' } };
  const form = new FormData();
  form.append('definition', new Blob([body], { type: 'application/yaml' }), 'definition.yaml');
  form.append('readme', new Blob([readme], { type: 'text/markdown' }), 'README.md');
  return { body: form, headers: {} };
}

async function yank(target: Target, ledger: Ledger, sent: Sent): Promise<number> {
  const status = await send(target, ledger, `${releasePath(sent)}/yank`, () => ({
    method: 'POST',
    body: JSON.stringify({ reason: 'a mistake' }),
    headers: { 'content-type': 'application/json' },
  }));
  if (status === 200) sent.yanked = true;
  return status;
}

interface Request {
  method: string;
  body?: string | FormData | Uint8Array;
  headers: Record<string, string>;
}

async function send(target: Target, ledger: Ledger, path: string, request: () => Request): Promise<number> {
  return (await answer(target, ledger, path, request)).status;
}

async function answer(
  { url, token }: Target,
  { wrongResponses: wrongAnswers }: Ledger,
  path: string,
  request: () => Request,
): Promise<{ status: number; location: string }> {
  const { headers, body, ...rest } = request();
  try {
    const response = await fetch(`${url}${path}`, {
      ...rest,
      ...(body === undefined ? {} : { body: body as NonNullable<RequestInit['body']> }),
      headers: { ...headers, authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    if (!ALLOWED.has(response.status)) wrongAnswers.push(`${response.status} to ${path}: ${text}`);
    if (response.status === 503 && response.headers.get('retry-after') === null) {
      wrongAnswers.push(`503 without Retry-After to ${path}`);
    }
    return { status: response.status, location: response.headers.get('location') ?? '' };
  } catch (error) {
    // The server has ended, or the response was interrupted.
    if (error instanceof TypeError) return { status: 0, location: '' };
    throw error;
  }
}
