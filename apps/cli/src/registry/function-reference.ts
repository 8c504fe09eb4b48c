import { KrmhubError } from '@krmhub/schema/error';
import { isGroup, isKind } from '@krmhub/schema/gvk';

/** `[GROUP/]KIND[@RELEASE]` as typed. */
export interface FunctionReference {
  group?: string;
  kind: string;
  /** As typed; the registry takes `v1.2` as 1.2.0. */
  release?: string;
}

/** What may be a release; the registry judges the rest. */
const RELEASE = /^v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?$/;

/** Throws `usage` for what is no reference. */
export function parseFunctionReference(text: string): FunctionReference {
  const at = text.indexOf('@');
  const name = at === -1 ? text : text.slice(0, at);
  const release = at === -1 ? undefined : text.slice(at + 1);
  const slash = name.indexOf('/');
  const group = slash === -1 ? undefined : name.slice(0, slash);
  const kind = name.slice(slash + 1);
  const hint = 'Name a function as GROUP/KIND or GROUP/KIND@RELEASE, such as example.com/SetLabels@1.2.0.';
  if (group !== undefined && !isGroup(group)) {
    throw new KrmhubError('usage', `${JSON.stringify(group)} is no group: a lower-case DNS name with a dot`, {
      hint,
    });
  }
  if (!isKind(kind)) throw new KrmhubError('usage', `${JSON.stringify(kind)} is no kind`, { hint });
  if (release === '') throw new KrmhubError('usage', 'the release after "@" is missing', { hint });
  if (release !== undefined && !RELEASE.test(release)) {
    throw new KrmhubError('usage', `${JSON.stringify(release)} is no release`, {
      hint: 'Releases are SemVer versions without build metadata, such as 1.2.0, v1.2 or 1.3.0-rc.1.',
    });
  }
  return { kind, ...(group === undefined ? {} : { group }), ...(release === undefined ? {} : { release }) };
}

/** `GROUP/KIND@RELEASE`, all of it; throws `usage` for less. */
export function parseReleaseReference(text: string): Required<FunctionReference> {
  const { group, kind, release } = parseFunctionReference(text);
  if (group === undefined || release === undefined) {
    throw new KrmhubError('usage', `"${text}" does not name one release`, {
      hint: 'Name it as GROUP/KIND@RELEASE, such as example.com/SetLabels@1.2.0.',
    });
  }
  return { group, kind, release };
}
