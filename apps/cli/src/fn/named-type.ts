import { KrmhubError } from '@krmhub/schema/error';
import { isApiVersionName, isGroup, isKind } from '@krmhub/schema/gvk';

/** Parses `GROUP/VERSION/KIND`, the type of a functionConfig. Throws `usage`. */
export function namedType(text: string): { apiVersion: string; kind: string } {
  const [group = '', version = '', kind = '', ...rest] = text.split('/');
  if (isGroup(group) && isApiVersionName(version) && isKind(kind) && rest.length === 0) {
    return { apiVersion: `${group}/${version}`, kind };
  }
  throw new KrmhubError('usage', `"${text}" does not name a function`, {
    hint: 'Use GROUP/VERSION/KIND, for example example.com/v1/SetLabels.',
  });
}
