import { imageRepository } from '@krmhub/consume/resolve/images/named-image';
import { defined } from '@krmhub/schema/defined';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { FunctionPreview, PreviewReport } from './preview-report.js';

/** Returns one line that says what is upgraded or downgraded. `quote` marks names. */
export function previewTitle(
  path: string,
  functions: PreviewReport['functions'],
  images: PreviewReport['imageChanges'],
  quote: (name: string) => string = escapeControls,
): string {
  const [one] = functions;
  const [image] = images;
  const downgrades = [
    ...functions.map(({ changes }) => changes.some((change) => change.class === 'downgraded')),
    ...images.map((change) => change.class === 'downgraded'),
  ];
  const verb = !downgrades.includes(true) ? 'Upgrade' : downgrades.includes(false) ? 'Change' : 'Downgrade';
  const count = downgrades.length;
  if (count > 1) return `${verb} ${plural(count, 'function')} of ${quote(path)}`;
  if (one !== undefined) return changeTitle(verb, one.type, quote(one.kind), one, quote);
  if (image === undefined) return `Update the lock of ${quote(path)}`;
  const { type, beforeTag, afterTag } = image;
  const name = quote(imageRepository(image.image));
  return changeTitle(verb, type, name, defined({ before: beforeTag, after: afterTag }), quote);
}

function changeTitle(
  verb: string,
  type: FunctionPreview['type'],
  name: string,
  { before, after }: { before?: string; after?: string },
  quote: (name: string) => string,
): string {
  if (type === 'added') return `Lock ${name}${after === undefined ? '' : ` ${quote(after)}`}`;
  if (type === 'removed') return `Remove ${name} from the lock`;
  const isSame = before === after || before === undefined || after === undefined;
  return `${verb} ${name}${isSame ? '' : ` from ${quote(before)} to ${quote(after)}`}`;
}
