/**
 * Lints files of definitions and catalogs.
 *
 * `rules.ts` lists the rules, and `codes.ts` their codes, severities, and fixes.
 *
 * @module
 */

import { readYaml } from '@krmhub/yaml';
import type { EntryDefaults } from '../convert/complete.js';
import { completeDraft } from '../convert/complete-draft.js';
import { sharedImageRelease } from '../convert/image-release.js';
import { defined } from '../defined.js';
import { type Diagnostic, hasErrors, type Path, type Range } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { Draft } from '../dialects/draft.js';
import { mayBeOurs } from '../dialects/may-be-ours.js';
import { readDialect } from '../dialects/read-dialect.js';
import type { CatalogKind } from '../documents/catalog.js';
import type { FunctionDefinition } from '../documents/definition.js';
import { DOCUMENT_LIMITS, type DocumentLimits } from '../documents/limits.js';
import { listVersions, objectField, textField } from '../json/access.js';
import { LINT_RULES } from './codes.js';
import { createEntryCheck } from './entries.js';
import { Findings } from './findings.js';
import type { LintedDocument, LintResult } from './lint-result.js';
import { type LintRuleset, type Rule, runRules } from './rule.js';
import { RULES } from './rules.js';

export interface LintOptions {
  /** The name of the file in diagnostics. */
  file: string;
  /** Default `registry`. */
  ruleset?: LintRuleset;
  /** The canonical release that the definitions are to be; without it, nothing is said about releases. */
  release?: string;
  limits?: Partial<DocumentLimits>;
  /** Skips documents of other tools, such as a Deployment. */
  skipForeign?: boolean;
  /**
   * Completes definitions before the check, with a warning for each field. Invalid entries of a catalog are then
   * omitted, and the others are kept.
   */
  complete?: EntryDefaults;
}

/**
 * Lints a file of definitions and catalogs. Never throws for the content of a document. Definitions without errors are
 * returned even if others in the file have errors. A catalog is returned only if all its entries are valid.
 */
export function lint(input: Uint8Array, options: LintOptions): LintResult {
  const { file, limits = {} } = options;
  if (options.skipForeign === true && !mayBeOurs(input))
    return { diagnostics: [], documents: [], skipped: 1 };
  const yaml = readYaml(input, { file, limits });
  const { ruleset = 'registry' } = options;
  const findings = new Findings();
  const result: LintedDocument[] = [];
  const foreign: Range[] = [];
  for (const document of yaml.documents) {
    const dialect = readDialect(document, file);
    if (options.skipForeign === true && dialect.foreign === true) {
      const range = document.locate([]);
      if (range !== undefined) foreign.push(range);
      continue;
    }
    findings.add(dialect.diagnostics);
    const drafts = completeDrafts(dialect.drafts, options.complete, findings);
    const faulty = lintDrafts(drafts, ruleset, findings, options.release);
    if (dialect.kind === undefined || hasErrors(dialect.diagnostics)) continue;
    const good = drafts.filter((_, index) => faulty[index] === false);
    if (dialect.kind === 'KRMFunctionDefinition') {
      for (const draft of good) result.push({ kind: dialect.kind, definition: asDefinition(draft) });
    } else if (dialect.catalog !== undefined && !findings.incomplete) {
      if (options.complete === undefined && good.length < drafts.length) continue;
      result.push(asCatalog(dialect.kind, dialect.catalog, good));
    }
  }
  const { maxDiagnostics } = { ...DOCUMENT_LIMITS, ...limits };
  const ofText = [...yaml.diagnostics, ...placeholderFindings(yaml.placeholders, file, ruleset)];
  findings.add(ofText.filter(({ range }) => !isInside(range, foreign)));
  return {
    diagnostics: findings.limited(maxDiagnostics, file),
    documents: result,
    skipped: foreign.length,
  };
}

function completeDrafts(
  drafts: readonly Draft[],
  defaults: EntryDefaults | undefined,
  findings: Findings,
): readonly Draft[] {
  if (defaults === undefined) return drafts;
  return drafts.map((given) => {
    const { draft, diagnostics } = completeDraft(given, defaults);
    findings.add(diagnostics);
    return draft;
  });
}

/** Reports the marks of `krmhub init`, which are comments and not visible to rules. */
function placeholderFindings(marks: readonly Range[], file: string, ruleset: LintRuleset): Diagnostic[] {
  const { fix, ...rule } = LINT_RULES['placeholder/marked'];
  const severity = ruleset === 'kep' ? rule.kep : rule.severity;
  const message = 'the value is still the placeholder from `krmhub init`';
  return marks.map((range) => ({
    code: 'placeholder/marked',
    severity,
    message,
    file,
    path: '',
    range,
    hint: fix,
  }));
}

function isInside(range: Range | undefined, outer: readonly Range[]): boolean {
  if (range === undefined) return false;
  const { line } = range.start;
  return outer.some(({ start, end }) => start.line <= line && line <= end.line);
}

/**
 * Returns whether each draft has errors. It also compares the drafts of one document, and stops if there are too many
 * errors.
 */
function lintDrafts(
  drafts: readonly Draft[],
  ruleset: LintRuleset,
  findings: Findings,
  release: string | undefined,
): boolean[] {
  const ofRelease = release === undefined ? [] : [otherRelease(release)];
  const checkEntry = createEntryCheck();
  const faulty: boolean[] = [];
  for (const [index, draft] of drafts.entries()) {
    if (findings.isFull && index > 0) {
      findings.incomplete = true;
      break;
    }
    const rules: Rule[] = [...RULES, ...ofRelease, (entry, report) => checkEntry(entry, index, report)];
    const found = runRules(rules, draft, ruleset);
    findings.add(found);
    faulty.push(hasErrors(found));
  }
  return faulty;
}

/** The shape rule found no errors, so the draft has this type. */
function asDefinition(draft: Draft): FunctionDefinition {
  return draft.spec as unknown as FunctionDefinition;
}

function asCatalog(
  kind: CatalogKind,
  { name, labels }: { name: string; labels?: Record<string, string> },
  drafts: readonly Draft[],
): LintedDocument {
  const functions = drafts.map(asDefinition);
  return { kind, catalog: { name, ...defined({ labels }), functions } };
}

/**
 * Returns a rule for a definition that is to be this release, which its file cannot say: its images must not have the
 * tag of another one, which users would take for this one.
 */
export function otherRelease(release: string): Rule {
  return (draft, report) => {
    const images = listVersions(draft.spec).flatMap(({ version, path }): { image: string; path: Path }[] => {
      const image = textField(objectField(objectField(version, 'runtime'), 'container'), 'image');
      return image === undefined ? [] : [{ image, path: [...path, 'runtime', 'container', 'image'] }];
    });
    const named = sharedImageRelease(images.map(({ image }) => image));
    if (named === undefined || named === release) return;
    const { image, path } = images[0]!;
    report(
      'image/other-release',
      path,
      `the image ${quote(image)} is of the release ${named}, not of ${release}`,
    );
  };
}
