import type { CatalogKind } from '../catalog.js';
import type { FunctionDefinition } from '../definition.js';
import { hasErrors } from '../diagnostic.js';
import { readDialect } from '../dialects.js';
import type { Draft, LintedDocument, LintResult } from '../draft.js';
import type { DocumentLimits } from '../limits.js';
import { DOCUMENT_LIMITS } from '../limits.js';
import { readYaml } from '../yaml.js';
import { Findings } from './cap.js';
import { createEntryCheck } from './entries.js';
import type { LintProfile, Rule } from './rule.js';
import { runRules } from './rule.js';
import { RULES } from './rules.js';

export interface LintOptions {
  /** Name of the file for diagnostics. */
  file: string;
  /** Default `registry`. */
  profile?: LintProfile;
  limits?: Partial<DocumentLimits>;
}

/**
 * Reads a file of definitions and catalogs and tells everything that is wrong with it. Never throws for what
 * a document holds. A definition without errors is among the documents even if others of the file have some;
 * a catalog is there only whole.
 */
export function lint(input: Uint8Array, options: LintOptions): LintResult {
  const { file, profile = 'registry', limits = {} } = options;
  const yaml = readYaml(input, { file, limits });
  const findings = new Findings();
  findings.add(yaml.diagnostics);
  const result: LintedDocument[] = [];
  for (const document of yaml.documents) {
    const dialect = readDialect(document, file);
    findings.add(dialect.diagnostics);
    const faulty = lintDrafts(dialect.drafts, profile, findings);
    if (dialect.kind === undefined || hasErrors(dialect.diagnostics)) continue;
    if (dialect.kind === 'KRMFunctionDefinition') {
      dialect.drafts.forEach((draft, index) => {
        if (!faulty[index]) result.push({ kind: 'KRMFunctionDefinition', definition: definitionOf(draft) });
      });
    } else if (dialect.catalog !== undefined && !findings.cut && !faulty.includes(true)) {
      result.push(catalogOf(dialect.kind, dialect.catalog, dialect.drafts));
    }
  }
  const { maxDiagnostics } = { ...DOCUMENT_LIMITS, ...limits };
  return { diagnostics: findings.capped(maxDiagnostics, file), documents: result };
}

/**
 * Whether each draft has errors; drafts of one document are also compared with each other. Ends early where
 * there are errors enough.
 */
function lintDrafts(drafts: readonly Draft[], profile: LintProfile, findings: Findings): boolean[] {
  const checkEntry = createEntryCheck();
  const faulty: boolean[] = [];
  for (const [index, draft] of drafts.entries()) {
    if (findings.enough && index > 0) {
      findings.cut = true;
      break;
    }
    const rules: Rule[] = [...RULES, (entry, report) => checkEntry(entry, index, report)];
    const found = runRules(rules, draft, profile);
    findings.add(found);
    faulty.push(hasErrors(found));
  }
  return faulty;
}

/** The shape rule has found nothing, so the draft is what its type says. */
function definitionOf(draft: Draft): FunctionDefinition {
  return draft.spec as unknown as FunctionDefinition;
}

function catalogOf(
  kind: CatalogKind,
  { name, labels }: { name: string; labels?: Record<string, string> },
  drafts: readonly Draft[],
): LintedDocument {
  const functions = drafts.map(definitionOf);
  return { kind, catalog: { name, ...(labels === undefined ? {} : { labels }), functions } };
}
