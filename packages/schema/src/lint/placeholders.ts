import type { Path } from '../diagnostics/diagnostic.js';
import { quote } from '../diagnostics/quote.js';
import type { JsonValue } from '../documents/definition.js';
import { parseImageReference } from '../images/image-reference.js';
import { listField, listVersions, objectField, textField } from '../json/access.js';
import { parseUrl } from '../names/parse-url.js';
import type { Rule } from './rule.js';

/** Domains for examples, which no one can use (RFC 2606, "Reserved Example Second Level Domain Names"). */
const EXAMPLE_DOMAIN = /(?:^|\.)example\.(?:com|net|org)$/i;

/** What `krmhub init` writes where the image is unknown. */
const INITIAL_IMAGE = /^registry\.example\.com\/functions\/[^:@]+:v0\.1\.0$/;

/** The sentence of a README of `krmhub init` that its author replaces. */
export const README_PLACEHOLDER = 'Describe the function in one or two sentences.';

/** Reports whether a README is still that of `krmhub init`; one of an example may be. */
export function hasReadmePlaceholder(readme: string, { group }: { group: string }): boolean {
  return readme.includes(README_PLACEHOLDER) && !EXAMPLE_DOMAIN.test(group);
}

/**
 * Checks for addresses of `krmhub init` and of documentation; if the whole function is an example, only for the first
 * image, which cannot run.
 */
export const placeholders: Rule = ({ spec }, report) => {
  const isExample = EXAMPLE_DOMAIN.test(textField(spec, 'group') ?? '');
  const check = (value: JsonValue | undefined, path: Path, hostOf: (text: string) => string | undefined) => {
    if (typeof value !== 'string') return;
    const host = hostOf(value);
    if (host === undefined || !EXAMPLE_DOMAIN.test(host)) return;
    if (isExample && !INITIAL_IMAGE.test(value)) return;
    report(
      'placeholder/address',
      path,
      `${quote(value)} is an address of documentation: ${host} is reserved`,
    );
  };
  check(spec.home, ['home'], hostOfUrl);
  for (const { version, path } of listVersions(spec)) {
    check(version.usage, [...path, 'usage'], hostOfUrl);
    listField(version, 'examples').forEach((example, index) => {
      check(example, [...path, 'examples', index], hostOfUrl);
    });
    const runtime = objectField(version, 'runtime');
    check(
      textField(objectField(runtime, 'container'), 'image'),
      [...path, 'runtime', 'container', 'image'],
      hostOfImage,
    );
    listField(objectField(runtime, 'exec'), 'platforms').forEach((platform, index) => {
      check(textField(platform, 'uri'), [...path, 'runtime', 'exec', 'platforms', index, 'uri'], hostOfUrl);
    });
  }
};

function hostOfUrl(text: string): string | undefined {
  return parseUrl(text.replace(/^git::/, ''))?.hostname;
}

/** Without the port. */
function hostOfImage(text: string): string | undefined {
  const reference = parseImageReference(text);
  return reference.ok ? reference.host?.split(':')[0] : undefined;
}
