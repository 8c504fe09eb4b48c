import { KrmhubError } from '@krmhub/schema/error';
import { isApiVersionName, isGroup, isKind } from '@krmhub/schema/gvk';
import { escapeControls } from '@krmhub/schema/text';

interface Type {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
}

/**
 * Reads the type of a functionConfig: `GROUP/VERSION/KIND`, or `GROUP/KIND` if `list` gives one API version of it. Throws
 * `usage`.
 */
export async function namedType(text: string, list: () => Promise<readonly Type[]>): Promise<Type> {
  const words = text.split('/');
  const [group = '', version = '', kind = ''] = words.length === 2 ? [words[0], '', words[1]] : words;
  const isType = words.length <= 3 && isGroup(group) && isKind(kind);
  if (isType && isApiVersionName(version)) return { apiVersion: `${group}/${version}`, kind };
  const found =
    isType && words.length === 2
      ? (await list()).filter((one) => one.kind === kind && one.apiVersion.startsWith(`${group}/`))
      : [];
  if (found.length > 1) {
    const types = found.map((one) => `${one.apiVersion}/${kind}`).join(', ');
    throw new KrmhubError('usage', `"${text}" has ${found.length} API versions`, {
      hint: escapeControls(`Use one of: ${types}`),
    });
  }
  if (found[0] !== undefined) return { apiVersion: found[0].apiVersion, kind };
  throw new KrmhubError('usage', `"${text}" does not name a function`, {
    hint: 'Use GROUP/VERSION/KIND, for example example.com/v1/SetLabels.',
  });
}
