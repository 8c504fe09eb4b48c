import { quote } from '../diagnostics/quote.js';
import type { JsonObject, JsonValue } from '../documents/definition.js';
import { field, listField, listVersions, objectField, textField } from '../json/access.js';
import {
  isApiVersionName,
  isGroup,
  isKind,
  isPascalCase,
  KUBERNETES_VERSION_PATTERN,
  pascalCase,
} from '../names/gvk.js';
import type { Report, Rule } from './rule.js';

const MAX_DESCRIPTION_LENGTH = 200;
const MAX_TAG_LENGTH = 50;

/** Checks group, kind, API versions, description, and tags. The shape rule reports empty strings. */
export const names: Rule = (draft, report) => {
  const { spec } = draft;
  checkGroup(textField(spec, 'group'), report);
  checkKind(textField(objectField(spec, 'names'), 'kind'), report);
  checkDescription(textField(spec, 'description'), report);
  checkVersions(spec, report);
  checkTags(listField(spec, 'tags'), report);
};

function checkGroup(group: string | undefined, report: Report): void {
  if (group === undefined || group.trim() === '' || isGroup(group)) return;
  const lower = group.toLowerCase();
  const hint = isGroup(lower)
    ? `Write ${quote(lower)}.`
    : !group.includes('.')
      ? 'Use a domain that you own, such as `fn.example.com`.'
      : 'Use at most 253 lower-case letters, digits, dashes, and dots.';
  report('names/group', ['group'], `${quote(group)} is not a DNS name with a dot`, { hint });
}

function checkKind(kind: string | undefined, report: Report): void {
  if (kind === undefined || kind.trim() === '') return;
  const path = ['names', 'kind'];
  const pascal = pascalCase(kind);
  const hint = pascal === undefined ? {} : { hint: `Write \`${pascal}\`.` };
  if (!isKind(kind)) report('names/kind', path, `${quote(kind)} is not a valid kind`, hint);
  else if (!isPascalCase(kind)) {
    report('names/kind-case', path, `${quote(kind)} is not in PascalCase`, hint);
  }
}

function checkDescription(description: string | undefined, report: Report): void {
  if (description === undefined) return;
  const path = ['description'];
  if (description.trim().includes('\n')) {
    report('description/one-line', path, 'the description has several lines');
  }
  if (description.length > MAX_DESCRIPTION_LENGTH) {
    const message = `the description has ${description.length} characters; lists show only ${MAX_DESCRIPTION_LENGTH}`;
    report('description/length', path, message);
  }
}

function checkVersions(spec: JsonObject, report: Report): void {
  const first = new Map<string, number>();
  listVersions(spec).forEach(({ version, path }) => {
    const name = textField(version, 'name');
    if (name === undefined || name.trim() === '') return;
    const at = [...path, 'name'];
    const index = Number(path[1]);
    if (!isApiVersionName(name)) {
      const hint = /^v?\d+(\.\d+)+/.test(name)
        ? 'This looks like a release. Set the API version of the functionConfig, such as `v1`.'
        : 'Use `v1`, `v1beta1`, or `v1alpha1`.';
      report('names/version', at, `${quote(name)} is not an API version`, { hint });
    } else if (!KUBERNETES_VERSION_PATTERN.test(name)) {
      report(
        'names/version-form',
        at,
        `${quote(name)} does not follow the Kubernetes pattern and sorts after v1 and v1beta1`,
      );
    }
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    else {
      const message = `${quote(name)} is also the name of versions[${earlier}], which takes precedence`;
      report('names/duplicate-version', at, message);
    }
  });
}

function checkTags(tags: readonly JsonValue[], report: Report): void {
  const first = new Map<string, number>();
  tags.forEach((tag, index) => {
    if (typeof tag !== 'string' || tag.trim() === '') return;
    if (tag !== tag.trim() || tag.includes(',')) {
      const hint = tag.includes(',') ? 'Write each tag as a separate item.' : `Write ${quote(tag.trim())}.`;
      report(
        'tags/form',
        ['tags', index],
        `the tag ${quote(tag)} has a comma, or leading or trailing spaces`,
        {
          hint,
        },
      );
    } else if (tag.length > MAX_TAG_LENGTH) {
      report(
        'tags/form',
        ['tags', index],
        `the tag has ${tag.length} characters; the limit is ${MAX_TAG_LENGTH}`,
      );
    }
    const key = tag.trim().toLowerCase();
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, index);
    else report('tags/duplicate', ['tags', index], `the tag ${quote(tag)} is already tags[${earlier}]`);
  });
}

/** Returns the group and kind of a draft if they are strings, to compare the entries of a catalog. */
export function functionName(spec: JsonObject): { group: string; kind: string } | undefined {
  const group = textField(spec, 'group');
  const kind = textField(field(spec, 'names'), 'kind');
  return group === undefined || kind === undefined ? undefined : { group, kind };
}
