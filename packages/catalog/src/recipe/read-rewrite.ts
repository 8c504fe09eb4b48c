import { parseImageReference } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { parseUrl } from '@krmhub/schema/parse-url';
import type { RecipeField } from './codes.js';
import { RECIPE_LIMITS, type RewriteRule } from './recipe.js';

type Shape = 'image' | 'url' | 'oci' | 'git';
type Prefix = { ok: true; shape: Shape } | { ok: false; reason: string; hint?: string };

const SHAPES: Record<Shape, string> = {
  image: 'of images',
  url: 'of URLs',
  oci: 'of OCI artifacts',
  git: 'of git repositories',
};

/** Reads rules that rewrite reference prefixes. */
export function readRewrites(field: RecipeField | undefined): RewriteRule[] | undefined {
  const list = field?.list(RECIPE_LIMITS.maxRewrites);
  if (list?.length === 0) {
    const hint = 'Add a rule, or remove `rewrite`.';
    field?.report('recipe/rewrite', 'the list of rules is empty', { hint });
  }
  const rules: RewriteRule[] = [];
  for (const item of list ?? []) {
    const rule = readRule(item);
    if (rule === undefined) continue;
    checkShadowed(rule, rules, item.get('from'));
    rules.push(rule);
  }
  return list && rules;
}

function readRule(field: RecipeField): RewriteRule | undefined {
  const rule = field.mapping({ required: ['from', 'to'] });
  const from = readPrefixAt(rule?.get('from'));
  const to = readPrefixAt(rule?.get('to'));
  if (from === undefined || to === undefined) return undefined;
  if (from.shape !== to.shape) {
    const message = `\`from\` is a prefix ${SHAPES[from.shape]}, but \`to\` is a prefix ${SHAPES[to.shape]}`;
    rule?.get('to')?.report('recipe/rewrite', message);
    return undefined;
  }
  return { from: from.text, to: to.text };
}

function readPrefixAt(field: RecipeField | undefined): { text: string; shape: Shape } | undefined {
  const text = field?.text(RECIPE_LIMITS.maxAddressLength);
  if (text === undefined) return undefined;
  const prefix = readPrefix(text);
  if (prefix.ok) return { text, shape: prefix.shape };
  field?.report('recipe/rewrite', prefix.reason, { hint: prefix.hint });
  return undefined;
}

function readPrefix(text: string): Prefix {
  if (/[\p{C}\p{Z}]/u.test(text)) return invalid('it contains a space or a control character');
  if (text.startsWith('oci://')) return readImagePrefix(text, text.slice('oci://'.length), 'oci');
  if (text.startsWith('git::')) {
    const read = readUrlPrefix(text.slice('git::'.length));
    return read.ok ? { ok: true, shape: 'git' } : read;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return readUrlPrefix(text);
  return readImagePrefix(text, text, 'image');
}

function readImagePrefix(text: string, name: string, shape: 'image' | 'oci'): Prefix {
  if (!text.endsWith('/')) return missingSlash(text);
  // A name is appended to check the reference grammar.
  const reference = parseImageReference(`${name}x`);
  if (!reference.ok) return invalid(`not a valid reference prefix: it ${reference.reason}`);
  // A tag or digest would belong to the appended name.
  const { host } = reference;
  if (host === undefined || !/[.:]|^localhost$/.test(host)) {
    return invalid('it does not begin with a host', 'Add the registry, for example `docker.io/library/`.');
  }
  return { ok: true, shape };
}

function readUrlPrefix(text: string): Prefix {
  const url = parseUrl(text);
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return invalid('it is not an http or https URL', 'Use images without a scheme: `HOST/PATH/`.');
  }
  // The message does not repeat the prefix, because it can contain a password.
  if (url.username !== '' || url.password !== '') {
    return invalid('it contains credentials, but recipes are public');
  }
  if (/[?#]/.test(text)) return invalid('a prefix cannot have a query or a fragment');
  if (!text.endsWith('/')) return missingSlash(text);
  // References are compared literally.
  if (url.href !== text) return invalid('it is not in canonical URL form', `Write \`${url.href}\`.`);
  return { ok: true, shape: 'url' };
}

function missingSlash(text: string): Prefix {
  return invalid('it must end with a slash, so that it does not match part of a name', `Write \`${text}/\`.`);
}

function checkShadowed(
  { from }: RewriteRule,
  earlier: readonly RewriteRule[],
  field: RecipeField | undefined,
): void {
  const shadow = earlier.find((rule) => from.startsWith(rule.from));
  if (shadow === undefined) return;
  if (shadow.from === from) {
    field?.report('recipe/rewrite', 'another rule already has this `from`', { hint: 'Remove one of them.' });
  } else field?.report('recipe/shadowed-rewrite', `the rule for ${shadow.from} comes first`);
}

function invalid(reason: string, hint?: string): Prefix {
  return { ok: false, reason, ...defined({ hint }) };
}
