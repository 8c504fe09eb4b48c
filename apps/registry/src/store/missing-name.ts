import { KrmhubError } from '@krmhub/schema';

/** A name that exists: of a function, of a release, of a catalog, or of a signing policy. */
export type NearName =
  | { group: string; kind: string; release?: string | undefined }
  | { catalog: string }
  | { policy: string };

/** The error for a name that does not exist. Its hint contains the text of each near name; pages link them. */
export class MissingName extends KrmhubError {
  readonly near: readonly NearName[];

  constructor(message: string, { hint, near }: { hint: string; near: readonly NearName[] }) {
    super('not-found', message, { hint });
    this.near = near;
  }
}

/** Returns the text of a near name in a hint. A release is named without its function. */
export function nearText(near: NearName): string {
  if ('catalog' in near) return near.catalog;
  if ('policy' in near) return near.policy;
  return near.release ?? `${near.group}/${near.kind}`;
}
