import { createHash } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ACCESS_CODES, POLICY_CODES, RECIPE_CODES } from '@krmhub/catalog';
import {
  DIALECT_CODES,
  type Diagnostic,
  LINT_RULES,
  type LintRuleset,
  type Severity,
  YAML_CODES,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { STDIN_NAME } from '../../io/read-stdin.js';
import { VERSION } from '../../io/version.js';

/** Formats findings as SARIF 2.1.0 (OASIS), for code scanning services and editors. */

export interface SarifOptions {
  /** The folder that file names are relative to; it becomes %SRCROOT%. */
  cwd: string;
  ruleset: LintRuleset;
  /** URL of docs/lint-rules.md; without it, rules have no link. */
  rulesUrl: string | undefined;
  /** Note about omitted findings. */
  more: string | undefined;
}

interface Rule {
  severity: Severity | 'off';
  kep?: Severity | 'off';
  summary: string;
  fix: string;
}

const RULES: Readonly<Record<string, Rule>> = {
  ...YAML_CODES,
  ...DIALECT_CODES,
  ...LINT_RULES,
  ...RECIPE_CODES,
  ...POLICY_CODES,
  ...ACCESS_CODES,
};
const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
const SOURCE_ROOT = '%SRCROOT%';
const LEVEL = { error: 'error', warning: 'warning', info: 'note', off: 'none' } as const;

export function sarifLog(diagnostics: readonly Diagnostic[], options: SarifOptions): object {
  const codes = [...new Set(diagnostics.map(({ code }) => code))].sort();
  const indexes = new Map(codes.map((code, index) => [code, index]));
  const seen = new Map<string, number>();
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'krmhub',
            semanticVersion: VERSION,
            rules: codes.map((code) => reportingDescriptor(code, options)),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: {
          [SOURCE_ROOT]: { description: { text: 'The working directory of krmhub.' } },
        },
        invocations: [
          {
            executionSuccessful: true,
            ...defined({
              toolExecutionNotifications:
                options.more === undefined
                  ? undefined
                  : [{ level: 'warning', message: { text: options.more } }],
            }),
          },
        ],
        results: diagnostics.map((diagnostic) => ({
          ruleId: diagnostic.code,
          ruleIndex: indexes.get(diagnostic.code),
          level: LEVEL[diagnostic.severity],
          message: { text: formatMessage(diagnostic) },
          locations: [formatLocation(diagnostic, options.cwd)],
          partialFingerprints: { 'krmhubFinding/v1': fingerprint(diagnostic, options.cwd, seen) },
        })),
      },
    ],
  };
}

function reportingDescriptor(code: string, { ruleset, rulesUrl }: SarifOptions): object {
  const rule = Object.hasOwn(RULES, code) ? RULES[code] : undefined;
  if (rule === undefined) return { id: code };
  const { severity, kep = severity, summary, fix } = rule;
  return {
    id: code,
    shortDescription: { text: summary },
    fullDescription: { text: summary },
    help: { text: fix },
    ...defined({ helpUri: rulesUrl === undefined ? undefined : ruleUrl(rulesUrl, code) }),
    defaultConfiguration: { level: LEVEL[ruleset === 'kep' ? kep : severity] },
  };
}

/** Returns the URL of the section of a code in docs/lint-rules.md. */
function ruleUrl(rulesUrl: string, code: string): string {
  const url = new URL(rulesUrl);
  url.hash = code.split('/')[0]!;
  return url.href;
}

function formatMessage({ message, hint }: Diagnostic): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

function formatLocation({ file, path: field, range }: Diagnostic, cwd: string): object {
  return {
    physicalLocation: {
      artifactLocation: artifactLocation(file, cwd),
      ...defined({
        region:
          range === undefined
            ? undefined
            : {
                startLine: range.start.line,
                startColumn: range.start.column,
                endLine: range.end.line,
                endColumn: range.end.column,
              },
      }),
    },
    ...defined({
      logicalLocations: field === '' ? undefined : [{ fullyQualifiedName: field, kind: 'member' }],
    }),
  };
}

function artifactLocation(file: string, cwd: string): { uri: string; uriBaseId?: string } {
  if (file === STDIN_NAME) return { uri: 'stdin', uriBaseId: SOURCE_ROOT };
  const full = path.resolve(cwd, file);
  const relative = path.relative(cwd, full);
  if (relative.startsWith('..') || path.isAbsolute(relative)) return { uri: pathToFileURL(full).href };
  const uri = relative.split(path.sep).map(encodeURIComponent).join('/');
  return { uri, uriBaseId: SOURCE_ROOT };
}

/** Returns a fingerprint that stays the same when lines move. Numbers equal findings. */
function fingerprint(
  { code, file, path: field, message }: Diagnostic,
  cwd: string,
  seen: Map<string, number>,
) {
  const { uri } = artifactLocation(file, cwd);
  const hash = createHash('sha256')
    .update(JSON.stringify([code, uri, field, message]))
    .digest('hex')
    .slice(0, 32);
  const count = (seen.get(hash) ?? 0) + 1;
  seen.set(hash, count);
  return `${hash}:${count}`;
}
