/**
 * Components that several pages use: text from publishers, labels, tabs, digests, times, and lists.
 *
 * @module
 */

import { parseUrl } from '@krmhub/schema/parse-url';
import { cutText, visibleText } from '../visible-text.js';

/**
 * A name or free text from publishers, with its own text direction. With `max` it is truncated to so many characters,
 * for lists whose page shows the whole.
 */
export function Text({ value, max }: { value: string; max?: number }) {
  return <bdi>{visibleText(max === undefined ? value : cutText(value, max))}</bdi>;
}

/** An address or a reference, which a narrow line breaks after a slash instead of within a word. */
export function Reference({ value, max }: { value: string; max?: number }) {
  const parts = visibleText(max === undefined ? value : cutText(value, max)).split(/(?<=[^/]\/)(?=[^/])/);
  return (
    <bdi>
      {parts.map((part, index) => (
        <>
          {index === 0 ? null : <wbr />}
          {part}
        </>
      ))}
    </bdi>
  );
}

/** An address from publishers: a link if it is http or https, otherwise text. */
export function ExternalLink({ url, text = url }: { url: string; text?: string }) {
  const isWeb = /^https?:$/.test(parseUrl(url)?.protocol ?? '');
  if (!isWeb) return <Reference value={text} />;
  return (
    <a class="external" href={url} rel="nofollow noopener noreferrer">
      <Reference value={text} />
    </a>
  );
}
