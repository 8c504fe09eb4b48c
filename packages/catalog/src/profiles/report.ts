import type { Digest, Profile, ProfileReport, UnsupportedField, UnsupportedValue } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { RECIPE_API_VERSION } from '../recipe/recipe.js';

/**
 * Streams the report of a profile, one unsupported field per line: those of each function, and the general ones at the
 * end.
 */
export function profileReportPieces(
  head: { catalog: string; snapshot?: Digest; profile: Profile },
  fields: readonly UnsupportedField[],
): {
  values(values: readonly UnsupportedValue[]): string;
  end(result: { digest: Digest; functions: number; omitted: number }): string;
} {
  const { catalog, snapshot, profile } = head;
  const first: Omit<ProfileReport, 'losses' | 'digest' | 'functions' | 'omitted'> = {
    apiVersion: RECIPE_API_VERSION,
    kind: 'ProfileReport',
    catalog,
    ...defined({ snapshot }),
    profile,
    unsaid: [...fields],
  };
  const start = `${JSON.stringify(first).slice(0, -1)},\n"losses":[`;
  let empty = true;
  return {
    values(values) {
      return values
        .map((value) => {
          const before = empty ? `${start}\n` : ',\n';
          empty = false;
          return before + JSON.stringify(value);
        })
        .join('');
    },
    end({ digest, functions, omitted }) {
      const rest = JSON.stringify({ digest, functions, omitted }).slice(1);
      return `${empty ? start : '\n'}],\n${rest}\n`;
    },
  };
}
