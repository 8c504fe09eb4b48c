import type { ConsumerReport } from '@krmhub/api/consumer-model';
import { REQUEST_LIMITS } from '@krmhub/api/parameters';
import { lockKey, parseFunction } from '@krmhub/catalog';
import { parseCatalog } from '@krmhub/consume/references/parse-catalog';
import { defined } from '@krmhub/schema/defined';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printLine, printWarning } from '../io/print.js';
import { runHelper } from '../io/run-helper.js';
import { findDefinition } from './find-definition.js';
import type { PlannedReport } from './lock-report.js';
import type { LockPlan, LockPlanOptions } from './plan-lock-file.js';

/** Fields of one release that a report has. */
const MAX_FIELDS = 100;

export interface ReportOptions {
  /** The public name of the package. By default, a report has a hash instead. */
  reportAs?: string;
  /** Report also which fields the functionConfigs set. */
  reportFields?: boolean;
}

/** Returns what to report about a package to each registry of its catalogs. Sends nothing. */
export async function planReports(
  io: Io,
  plan: LockPlan,
  folder: string,
  options: ReportOptions & LockPlanOptions,
): Promise<PlannedReport[]> {
  const registries = new Map<string, ConsumerReport['releases']>();
  for (const fn of plan.lock.functions) {
    const { registry } = parseCatalog(io, { text: fn.catalog, folder });
    if (registry === undefined || fn.release === undefined) continue;
    const { group, kind, version } = parseFunction(fn);
    const fields = options.reportFields === true ? await fieldsOf(io, plan, fn, options) : undefined;
    const releases = registries.get(registry.url) ?? [];
    releases.push({ group, kind, version, release: fn.release, ...defined({ fields }) });
    registries.set(registry.url, releases);
  }
  const planned: PlannedReport[] = [];
  const repository =
    registries.size === 0 || options.reportAs !== undefined ? '' : await repositoryName(io, folder);
  for (const [registry, releases] of registries) {
    // Without the registry in it, reports to several of them could be matched.
    const name = options.reportAs ?? sha256(`${registry}\n${repository}`);
    planned.push({
      registry,
      report: { name, releases: releases.slice(0, REQUEST_LIMITS.maxReportedReleases) },
    });
  }
  return planned;
}

/** Sends reports, each with the credentials for its registry. */
export async function sendReports(io: Io, planned: readonly PlannedReport[]): Promise<void> {
  const { connect } = await import('../registry/connection.js');
  for (const { registry, report } of planned) {
    const client = await connect(io, registry);
    const { releases } = await client.reportConsumer(report);
    const rest = report.releases.length - releases;
    if (rest > 0) {
      const what = `${plural(rest, 'release')} of the report`;
      await printWarning(io, escapeControls(`${registry} does not count ${what}: it does not have them`));
    }
  }
}

/** Prints exactly what is sent. */
export async function printReports(
  io: Io,
  planned: readonly PlannedReport[],
  { isDryRun }: { isDryRun: boolean },
): Promise<void> {
  if (planned.length === 0)
    await printLine(io, 'nothing to report: no release is from the catalog of a registry');
  for (const { registry, report } of planned) {
    await printLine(
      io,
      escapeControls(`${isDryRun ? 'would report' : 'reporting'} to ${registry} as ${report.name}:`),
    );
    for (const { group, kind, version, release, fields } of report.releases) {
      const used = fields === undefined ? '' : `, with the fields ${fields.join(', ') || '(none)'}`;
      await printLine(io, escapeControls(`  ${group}/${version} ${kind} ${release}${used}`));
    }
  }
}

/** The fields that all functionConfigs of a locked function set together. Undefined without a definition. */
async function fieldsOf(
  io: Io,
  { lock, stored, uses, listed }: LockPlan,
  fn: LockPlan['lock']['functions'][number],
  options: LockPlanOptions,
): Promise<string[] | undefined> {
  const use = uses.find((one) => lockKey(one.fn) === lockKey(fn));
  const definition =
    use?.entry ??
    (await findDefinition(io, fn, lock, options)) ??
    (await findDefinition(io, fn, stored?.lock, options));
  if (definition === undefined) {
    const name = escapeControls(`${fn.apiVersion} ${fn.kind}`);
    await printWarning(io, `the fields of ${name} are not reported: its locked definition is not available`);
    return undefined;
  }
  const { usedFields } = await import('@krmhub/schema/config-fields/used-fields');
  const { version } = parseFunction(fn);
  const fields = listed
    .filter(({ request }) => request.apiVersion === fn.apiVersion && request.kind === fn.kind)
    .flatMap(({ config }) =>
      config === undefined ? [] : usedFields(definition, version, config.value, MAX_FIELDS),
    );
  return [...new Set(fields)].sort().slice(0, MAX_FIELDS);
}

/** Returns the repository of a folder, and the folder in it. Throws `usage` if git does not know. */
async function repositoryName(io: Io, folder: string): Promise<string> {
  const git = async (...args: string[]) => {
    const result = await runHelper(io, 'git', ['-C', folder, ...args]);
    return 'code' in result && result.code === 0 ? result.output.trim() : undefined;
  };
  const remote = await git('config', '--get', 'remote.origin.url');
  const prefix = await git('rev-parse', '--show-prefix');
  if (remote === undefined || remote === '' || prefix === undefined) {
    throw new KrmhubError(
      'usage',
      'cannot find out which repository the package is in: git has no remote "origin"',
      {
        hint: 'Use --report-as NAME, which the owners of the functions then see.',
      },
    );
  }
  return `${canonicalRemote(remote)}\n${prefix.replace(/\/$/, '')}`;
}

/** Returns HOST/PATH for all addresses of a repository: `https://user@host/a/b.git` and `git@host:a/b`. */
export function canonicalRemote(remote: string): string {
  const [, host = '', rest = ''] =
    /^(?:[a-z+]+:\/\/)?(?:[^@/]*@)?([^/:]+)(?::\d+(?=\/))?[/:](.*)$/i.exec(remote) ?? [];
  return host === '' ? remote : `${host.toLowerCase()}/${rest.replace(/^\/+|(?:\.git)?\/*$/g, '')}`;
}
