import type { LintRuleset } from '@krmhub/schema';
import type { LintFormat } from './formats.js';

export interface LintFilesOptions {
  output: LintFormat;
  ruleset: LintRuleset;
  skipOthers?: boolean;
  rulesUrl?: string;
}
