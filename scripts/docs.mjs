#!/usr/bin/env node
/**
 * Generates the reference documents and some source files from the built packages.
 * With --check it writes nothing and exits with 1 if one of them is out of date.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { renderModules } from './modules.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Every generated file: its path, and the function that renders its text. */
const DOCUMENTS = [
  { path: 'docs/lint-rules.md', render: renderLintRules },
  { path: 'docs/compatibility.md', render: renderCompatibility },
  { path: 'docs/configuration.md', render: renderConfiguration },
  { path: 'docs/commands.md', render: renderCommands },
  { path: 'docs/internals/modules.md', render: () => renderModules(root, GENERATED) },
  { path: 'packages/api/src/generated/response-schemas.ts', render: renderClientSchemas },
];

/** The last line of the introduction of each document. */
const GENERATED = '`npm run docs` generates this page.';

/** Imports a built module that its package does not export. */
const built = (path) => import(pathToFileURL(join(root, path)).href);

async function renderLintRules() {
  const { LINT_RULES, YAML_CODES, DIALECT_CODES, CONVERT_CODES } = await import('@krmhub/schema');
  const { ACCESS_CODES, LOCK_CODES, POLICY_CODES, PUBLISH_CODES, RECIPE_CODES, SETTINGS_CODES } =
    await import('@krmhub/catalog');
  const { SCRIPT_CODES } = await built('packages/functions/dist/starlark/codes.js');
  const { CONFIG_CODES } = await built('apps/cli/dist/function-configs/codes.js');
  const sections = [
    ['The text of the file', YAML_CODES],
    ['Dialects', DIALECT_CODES],
    ['Definitions and catalogs', LINT_RULES],
    ['Starlark scripts', SCRIPT_CODES],
    ['Converting', CONVERT_CODES],
    ['Publishing', PUBLISH_CODES],
    ['Catalog recipes', RECIPE_CODES],
    ['Signing policies', POLICY_CODES],
    ['Access documents', ACCESS_CODES],
    ['Lock files', LOCK_CODES],
    ['Settings of packages', SETTINGS_CODES],
    ['Kustomizations, Compositions, and Kptfiles', CONFIG_CODES],
  ];
  const lines = [
    '# Lint rules',
    '',
    'Every diagnostic has a code. `krmhub lint` and the registry use the severities in the column `registry`. With',
    '`--ruleset kep`, lint checks definitions against the exact text of KEP-2906. The registry rejects definitions with',
    'errors, and accepts definitions with warnings.',
    '',
    GENERATED,
  ];
  for (const [title, codes] of sections) {
    lines.push('', `## ${title}`);
    for (const [group, entries] of groups(codes)) {
      lines.push(
        '',
        `### ${group}`,
        '',
        '| code | registry | kep | problem | fix |',
        '|---|---|---|---|---|',
      );
      for (const [code, { severity, kep = severity, summary, fix }] of entries) {
        lines.push(`| \`${code}\` | ${severity} | ${kep} | ${cell(summary)} | ${cell(fix)} |`);
      }
    }
  }
  return `${lines.join('\n')}\n`;
}

async function renderCompatibility() {
  const { CATALOG_CHANGE_CLASSES, CATALOG_CHANGE_IMPACTS, COMPATIBILITY_RULES, EFFECTS } = await import(
    '@krmhub/catalog'
  );
  const meanings = {
    breaking:
      'A valid file becomes invalid, or its meaning changes. The registry rejects the release unless you use `--allow-breaking`.\nIn an alpha API version, such as `v1alpha1`, a breaking change is only a warning.',
    review:
      'Files usually stay valid, but their meaning or the permissions of the function can change. `krmhub publish` prints a warning.',
    compatible: 'Files stay valid and keep their meaning. Only `krmhub diff` reports these changes.',
  };
  const lines = [
    '# Compatibility',
    '',
    'This page lists the changes that krmhub finds between two releases, and whether they break users.',
    '',
    'krmhub compares each API version separately, because a functionConfig has one API version. `krmhub diff` reports all',
    'changes. `krmhub publish` and the registry compare a new release with the newest earlier release that is not yanked. They',
    'use a pre-release only if there is no other release. A new API version has no files yet, so krmhub compares only its',
    'permissions with the preferred API version before it.',
    '',
    'Only the function reads its functionConfig. For this reason, a field can accept more values than before, even if the',
    'API conventions of Kubernetes do not allow that for resources.',
    '',
    GENERATED,
  ];
  for (const effect of EFFECTS) {
    lines.push('', `## ${effect[0].toUpperCase()}${effect.slice(1)}`, '', meanings[effect]);
    lines.push('', '| rule | what changed |', '|---|---|');
    for (const [rule, { effect: its, summary }] of Object.entries(COMPATIBILITY_RULES)) {
      if (its === effect) lines.push(`| \`${rule}\` | ${cell(summary)} |`);
    }
  }
  lines.push(
    '',
    '## Changes between two catalogs',
    '',
    '`krmhub catalog diff` assigns one of these classes to every change. If a change is `breaking`, the exit code is 1. Review',
    'each `review` change before you use the catalog. For a `quiet` change, no action is required; pages and terminals call',
    'it compatible.',
    '',
    '| class | severity | what changed |',
    '|---|---|---|',
  );
  for (const weight of CATALOG_CHANGE_IMPACTS) {
    for (const [name, { weight: its, summary }] of Object.entries(CATALOG_CHANGE_CLASSES)) {
      if (its === weight) lines.push(`| \`${name}\` | ${weight} | ${cell(summary)} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

async function renderConfiguration() {
  const { SETTINGS } = await import('@krmhub/registry');
  const { SERVER_LIMITS } = await built('apps/registry/dist/limits.js');
  const { REQUEST_LIMITS } = await built('packages/api/dist/parameters.js');
  const { DOCUMENT_LIMITS } = await built('packages/schema/dist/documents/limits.js');
  const { YAML_LIMITS } = await built('packages/yaml/dist/limits.js');
  const { SOURCE_LIMITS } = await built('packages/sources/dist/limits.js');
  const { LAYER_LIMITS } = await built('apps/cli/dist/function-configs/limits.js');
  const { BUILD_LIMITS } = await built('apps/cli/dist/kustomize/run/limits.js');
  const { EXECUTABLE_LIMITS, FUNCTION_LIMITS } = await import('@krmhub/functions');
  const { UPSTREAM_LIMITS } = await import('@krmhub/catalog/read-upstream');
  const { BUNDLE_LIMITS, LOCK_LIMITS, POLICY_LIMITS, PUBLISH_LIMITS, RECIPE_LIMITS } = await import(
    '@krmhub/catalog'
  );
  const lines = [
    '# Configuration',
    '',
    'You can configure a registry with a file, with environment variables, and with options of `krmhub serve`. Options override',
    'environment variables, and environment variables override the file. Set the path of the file with `--config` or',
    '`KRMHUB_CONFIG`. The file is YAML, with the keys in the column "key":',
    '',
    '```yaml',
    'publicUrl: https://krm.example.com',
    'trustedProxies: [10.0.0.0/8]',
    'writesPerMinute: 600',
    '```',
    '',
    'If a setting is unknown or a value is invalid, the registry does not start. The message lists every problem.',
    '',
    GENERATED,
    '',
    '## Settings of the registry',
    '',
    '| setting | key | option | value | default | description |',
    '|---|---|---|---|---|---|',
  ];
  for (const [key, { name, flag, unit, default: value, why }] of Object.entries(SETTINGS)) {
    const option = flag === undefined ? '' : `\`${flag}\``;
    lines.push(`| \`${name}\` | \`${key}\` | ${option} | ${cell(unit)} | ${value} | ${cell(why)} |`);
  }
  lines.push(
    '',
    '## Variables of the command line',
    '',
    '| variable | value |',
    '|---|---|',
    '| `KRMHUB_REGISTRY` | URL of the registry to use; the default is that of `krmhub login`, else `http://localhost:8080` |',
    '| `KRMHUB_TOKEN` | token for that registry; no other registry gets it, also not the one in `--registry` ([rules](credentials.md)) |',
    '| `NETRC` | file of user names and passwords for hosts; the default is `~/.netrc` |',
    '| `KRMHUB_PLAIN_HTTP` | other machines that get credentials without TLS: hosts, with or without a port, separated by commas |',
    '| `KRMHUB_KEY_PASSWORD` | password of the key file, for `keygen` and `sign` |',
    '| `KRMHUB_TRUSTED_ROOT` | file with the trusted root of a sigstore instance |',
    '| `KRMHUB_FULCIO_URL`, `KRMHUB_REKOR_URL`, `KRMHUB_TIMESTAMP_URL` | services of that instance |',
    '| `KRMHUB_CACHE` | folder of the cache of catalogs; the default is `krmhub` in `XDG_CACHE_HOME`, else in `~/.cache` |',
    '| `KRMHUB_OFFICIAL_CATALOG` | catalog to search before all others, and to trust, without `--official` |',
    '| `KRMHUB_TRUST` | trust file; the default is `trust.yaml` next to the credentials of `krmhub login` |',
    '| `KRMHUB_TOKEN_SERVICES` | token services on other hosts that are allowed to get OCI credentials: `REGISTRY=ORIGIN`, separated by commas |',
    '| `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` | proxy to use, also for catalogs, executables, and bases over HTTP, OCI, and git with HTTP |',
    '| `NO_PROXY` | hosts without the proxy; connections to the local machine never use it |',
    '| `NODE_EXTRA_CA_CERTS` | file with additional CA certificates to trust |',
    '',
    '## Fixed limits',
    '',
    'You cannot change these limits.',
  );
  const definitionLimits = Object.fromEntries(
    Object.entries(DOCUMENT_LIMITS).filter(([name]) => !Object.hasOwn(YAML_LIMITS, name)),
  );
  const limits = [
    ['YAML', YAML_LIMITS, 'packages/yaml/src/limits.ts'],
    ['Definitions', definitionLimits, 'packages/schema/src/documents/limits.ts'],
    ['Publishing', PUBLISH_LIMITS, 'packages/catalog/src/plan/publish-codes.ts'],
    ['Catalog recipes', RECIPE_LIMITS, 'packages/catalog/src/recipe/recipe.ts'],
    ['Bundles', BUNDLE_LIMITS, 'packages/catalog/src/plan/attach.ts'],
    ['Signing policies', POLICY_LIMITS, 'packages/catalog/src/policy/signing-policy.ts'],
    ['Lock files', LOCK_LIMITS, 'packages/catalog/src/lock/lock.ts'],
    ['Kustomizations, Compositions, and Kptfiles', LAYER_LIMITS, 'apps/cli/src/function-configs/limits.ts'],
    ['Upstream catalogs', SOURCE_LIMITS, 'packages/sources/src/limits.ts'],
    ['Contents of upstream catalogs', UPSTREAM_LIMITS, 'packages/catalog/src/upstream/read-upstream.ts'],
    ['Running functions', FUNCTION_LIMITS, 'packages/functions/src/limits.ts'],
    ['Builds', BUILD_LIMITS, 'apps/cli/src/kustomize/run/limits.ts'],
    ['Executables of functions', EXECUTABLE_LIMITS, 'packages/functions/src/archives/limits.ts'],
    ['Requests', REQUEST_LIMITS, 'packages/api/src/parameters.ts'],
    // A page of its own: a registry shows each section on one.
    ['## Fixed limits of the server', SERVER_LIMITS, 'apps/registry/src/limits.ts'],
  ];
  for (const [title, values, source] of limits) {
    const reasons = limitReasons(await readFile(join(root, source), 'utf8'));
    const heading = title.startsWith('##') ? title : `### ${title}`;
    lines.push('', heading, '', '| limit | value | unit | description |', '|---|---|---|---|');
    for (const [name, value] of Object.entries(values)) {
      const why = reasons.get(name);
      if (why === undefined) throw new Error(`${source}: ${name} has no comment that describes it`);
      lines.push(`| \`${name}\` | ${value.toLocaleString('en')} | ${limitUnit(name)} | ${cell(why)} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the comment above each limit in the source of a table of limits. */
function limitReasons(source) {
  const reasons = new Map();
  const table = /export const \w+_LIMITS = \{\n([\s\S]*?)\n\} as const;/.exec(source)?.[1] ?? '';
  let comment;
  for (const [, text, name] of table.matchAll(/\/\*\*([\s\S]*?)\*\/|^ {2}(\w+):/gm)) {
    if (text !== undefined) comment = text.replace(/\s*\n\s*\* ?/g, ' ').trim();
    else reasons.set(name, comment);
  }
  return reasons;
}

/** Returns the unit that the name of a limit contains. */
function limitUnit(name) {
  if (/^formBytesOf/.test(name)) return 'count';
  if (/megabytes$/i.test(name)) return 'mebibytes';
  if (/bytes/i.test(name)) return 'bytes';
  if (/milliseconds$/i.test(name)) return 'milliseconds';
  if (/seconds$/i.test(name)) return 'seconds';
  return /length$|characters$/i.test(name) ? 'characters' : 'count';
}

async function renderClientSchemas() {
  const { renderResponseSchemas } = await import('@krmhub/api/render-response-schemas');
  return renderResponseSchemas();
}

async function renderCommands() {
  const { buildProgram } = await built('apps/cli/dist/program.js');
  const sink = { write: () => true, columns: 80 };
  const program = await buildProgram({
    stdout: sink,
    stderr: sink,
    stdin: sink,
    env: {},
    cwd: root,
    exitCode: 0,
  });
  const lines = ['# Commands', '', 'This page shows the output of `krmhub COMMAND --help`.', '', GENERATED];
  const visit = (command) => {
    let text = '';
    command.configureOutput({
      writeOut: (part) => {
        text += part;
      },
    });
    command.outputHelp();
    const name = [];
    for (let at = command; at; at = at.parent) name.unshift(at.name());
    lines.push('', `## ${name.join(' ')}`, '', '```text', text.trimEnd(), '```');
    const visible = command.createHelp().visibleCommands(command);
    for (const child of command.commands) if (visible.includes(child)) visit(child);
  };
  visit(program);
  return `${lines.join('\n')}\n`;
}

/** Groups codes by the part before the slash, in the order of the table. */
function groups(codes) {
  const found = new Map();
  for (const entry of Object.entries(codes)) {
    const group = entry[0].split('/')[0];
    if (!found.has(group)) found.set(group, []);
    found.get(group).push(entry);
  }
  return found;
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

async function main(check) {
  const stale = [];
  for (const { path, render } of DOCUMENTS) {
    const file = join(root, path);
    const text = await render();
    const current = await readFile(file, 'utf8').catch(() => undefined);
    if (current === text) continue;
    stale.push(path);
    if (check) continue;
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    console.log(`wrote ${path}`);
  }
  if (!check || stale.length === 0) return;
  console.error(
    `out of date: ${stale.join(', ')}\nRun \`npm run build && npm run docs\` and commit the result.`,
  );
  process.exitCode = 1;
}

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}\nusage: node scripts/docs.mjs [--check]`);
  process.exitCode = 2;
} else {
  await main(process.argv.includes('--check'));
}
