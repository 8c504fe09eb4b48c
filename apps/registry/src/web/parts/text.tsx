/**
 * Components that several pages use: text from publishers, labels, tabs, digests, times, and lists.
 *
 * @module
 */

import { parseUrl } from '@krmhub/schema/parse-url';
import type { Child } from 'hono/jsx';
import { breakablePieces } from '../break-places.js';
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
  const parts = visibleText(max === undefined ? value : cutText(value, max)).split(/(?<=[^/<]\/)(?=[^/])/);
  return <bdi>{breakBetween(parts)}</bdi>;
}

const LONG_WORD = /\S{23}/;

/** A message. A narrow line breaks a long name in it after a slash. */
export function Message({ value }: { value: string }) {
  return LONG_WORD.test(value) ? <Reference value={value} /> : <Text value={value} />;
}

/**
 * A group or a kind. A line breaks before it, and within it only if it is longer than the line: after a dot or before a
 * capital letter.
 */
export function NamePart({ value }: { value: string }) {
  const pieces = breakBetween(breakablePieces(visibleText(value)));
  return pieces.length === 1 ? pieces : <span class="word">{pieces}</span>;
}

/** A name of a function or a release, as a message has it. */
interface Named {
  group: string;
  kind?: string | undefined;
  /** A release, or a range of releases. */
  release?: string | undefined;
}

/** A group; with a kind, the name of a function; with a release, that of a release. */
export function QualifiedName({
  name: { group, kind, release },
  groupClass = 'found-group',
}: {
  name: Named;
  groupClass?: string;
}) {
  if (kind === undefined) return <NamePart value={group} />;
  return (
    <>
      <span class={groupClass}>
        <NamePart value={`${group}/`} />
      </span>
      <wbr />
      {release === undefined ? (
        <NamePart value={kind} />
      ) : (
        <>
          <NamePart value={`${kind}@`} />
          <wbr />
          {release}
        </>
      )}
    </>
  );
}

/** Groups or patterns in a line, and how many more there are. */
export function NameList({ values, max }: { values: readonly string[]; max: number }) {
  return (
    <>
      {values.slice(0, max).map((value, index) => (
        <>
          {index === 0 ? '' : ', '}
          <NamePart value={value} />
        </>
      ))}
      {values.length > max ? ` and ${values.length - max} more` : ''}
    </>
  );
}

function breakBetween(parts: readonly string[]): Child[] {
  return parts.map((part, index) => (
    <>
      {index === 0 ? null : <wbr />}
      {part}
    </>
  ));
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
