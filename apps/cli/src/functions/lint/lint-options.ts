import type { LintProfile } from '@krmhub/schema';
import type { LintFormat } from './formats.js';

export interface LintFilesOptions {
  format: LintFormat;
  ruleset: LintProfile;
  skipOthers?: boolean;
  rulesUrl?: string;
}
