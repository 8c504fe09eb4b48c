import { hideInValue } from '@krmhub/schema/hide-passwords';
import { wrap } from '@krmhub/schema/text';

/** Wraps a text for people. A password must be hidden before its line is cut. */
export function wrapText(text: string, columns: number): string[] {
  return wrap(hideInValue(text), columns);
}
