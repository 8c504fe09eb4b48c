import type { LintRuleset } from '@krmhub/schema';
import type { LintFormat } from './formats.js';

export interface LintFilesOptions {
  output: LintFormat;
  ruleset: LintRuleset;
  skipOthers?: boolean;
  /** What the definitions are to be published as. */
  release?: string;
  rulesUrl?: string;
}
