import { defined } from '@krmhub/schema/defined';
import type { Replacement } from '@krmhub/schema/documents/replacement';
import { KrmhubError } from '@krmhub/schema/error';
import { isGroup, isKind } from '@krmhub/schema/gvk';
import { hidePasswords } from '@krmhub/schema/hide-passwords';

/** A parsed `[GROUP/]KIND[@RELEASE]`. */
export interface FunctionReference {
  group?: string;
  kind: string;
  /** As typed; the registry reads `v1.2` as 1.2.0. */
  release?: string;
}

/** A coarse check; the registry validates the release. */
const RELEASE = /^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?$/;

/** Parses a reference. Throws `usage` for an invalid one, with a hint about what can be written there. */
export function parseFunctionReference(
  text: string,
  hint = 'Use GROUP/KIND or GROUP/KIND@RELEASE, for example: example.com/SetLabels@1.2.0',
): FunctionReference {
  // Its parts would be quoted, in which a password is not known as one.
  const shown = hidePasswords(text);
  if (shown !== text)
    throw new KrmhubError('usage', `${JSON.stringify(shown)} is a URL, not a function`, { hint });
  const at = text.indexOf('@');
  const name = at === -1 ? text : text.slice(0, at);
  const release = at === -1 ? undefined : text.slice(at + 1);
  const slash = name.indexOf('/');
  const group = slash === -1 ? undefined : name.slice(0, slash);
  const kind = name.slice(slash + 1);
  if (group !== undefined && !isGroup(group)) {
    throw new KrmhubError(
      'usage',
      `${JSON.stringify(group)} is not a valid group: it must be a lower-case DNS name with a dot`,
      {
        hint,
      },
    );
  }
  if (!isKind(kind)) throw new KrmhubError('usage', `${JSON.stringify(kind)} is not a valid kind`, { hint });
  if (release === '')
    throw new KrmhubError('usage', `${JSON.stringify(text)} has no release after "@"`, { hint });
  if (release !== undefined && !RELEASE.test(release)) {
    throw new KrmhubError('usage', `${JSON.stringify(release)} is not a valid release`, {
      hint: 'Use a SemVer version without build metadata, for example: 1.2.0, v1.2, or 1.3.0-rc.1',
    });
  }
  return { kind, ...defined({ group, release }) };
}

/** Parses `GROUP/KIND[@RANGE]`. The registry validates the range. Throws `usage` for another text. */
export function parseReplacement(text: string): Replacement {
  const at = text.indexOf('@');
  const { group, kind } = parseFunctionReference(at === -1 ? text : text.slice(0, at));
  const releases = at === -1 ? undefined : text.slice(at + 1).trim();
  if (group === undefined || releases === '') {
    throw new KrmhubError('usage', `${JSON.stringify(text)} is not a replacement`, {
      hint: 'Use GROUP/KIND or GROUP/KIND@RANGE, for example: example.com/SetLabels@^2.0.0',
    });
  }
  return { group, kind, ...defined({ releases }) };
}

/** Parses `[GROUP/]KIND@RELEASE`. Throws `usage` without a release. */
export function parseReleaseReference(text: string): FunctionReference & { release: string } {
  const { release, ...name } = parseFunctionReference(text);
  if (release !== undefined) return { ...name, release };
  const example = name.group === undefined ? `example.com/${name.kind}` : text;
  throw new KrmhubError('usage', `${JSON.stringify(text)} is not a release`, {
    hint: `Use [GROUP/]KIND@RELEASE, for example: ${example}@1.2.0`,
  });
}
