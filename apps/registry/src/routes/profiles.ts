import { fillPath } from '@krmhub/api/paths';
import { type RenderedEntry, renderProfile, type SnapshotRecord } from '@krmhub/catalog';
import type { FunctionDefinition, Profile } from '@krmhub/schema';
import { catalogHeader } from '../catalogs/renditions/snapshot-renditions.js';
import { bytesAnswer, CACHE_ASKING, textAnswer } from '../http/bytes-response.js';
import { publicAddress } from '../http/public-address.js';
import type { RegistryContext, RegistryParts } from '../server/environment.js';

export interface ProfileAnswers {
  answer(c: RegistryContext, snapshot: SnapshotRecord, profile: Profile): Promise<Response>;
  /** One entry as a document of its own. */
  entryAnswer(
    c: RegistryContext,
    snapshot: SnapshotRecord,
    profile: Profile,
    entries: readonly RenderedEntry[],
  ): Promise<Response>;
  report(c: RegistryContext, snapshot: SnapshotRecord, profile: Profile): Promise<Response>;
}

/**
 * Answers with snapshots in the dialects that other tools read. Another version of the registry may write the same
 * snapshot in another way, so that caches ask each time.
 */
export function profileAnswers({
  profiles,
  config,
}: Pick<RegistryParts, 'profiles' | 'config'>): ProfileAnswers {
  const links = ({ catalog, serial }: SnapshotRecord, profile: Profile): string => {
    const place = { name: catalog, snapshot: String(serial) };
    const own = publicAddress(config, fillPath('snapshotCatalogYaml', place));
    const history = publicAddress(config, fillPath('snapshots', place));
    const report = publicAddress(config, fillPath('snapshotProfile', { ...place, profile }));
    return `<${own}?profile=${profile}>; rel="memento", <${history}>; rel="version-history", <${report}>; rel="describedby"`;
  };
  return {
    async answer(c, snapshot, profile) {
      const form = await profiles.of(snapshot, profile);
      return bytesAnswer(c, {
        digest: form.digest,
        mediaType: 'application/yaml',
        cacheControl: CACHE_ASKING,
        headers: { Link: links(snapshot, profile) },
        coded: true,
        find: (coding) => profiles.find(snapshot, form, 'digest', coding),
      });
    },
    async entryAnswer(c, snapshot, profile, entries) {
      const definitions = entries.map(({ json }) => JSON.parse(json) as FunctionDefinition);
      const { text } = renderProfile(profile, catalogHeader(snapshot), definitions);
      return textAnswer(c, text, {
        mediaType: 'application/yaml',
        cacheControl: CACHE_ASKING,
        headers: { Link: links(snapshot, profile) },
      });
    },
    async report(c, snapshot, profile) {
      const form = await profiles.of(snapshot, profile);
      return bytesAnswer(c, {
        digest: form.report,
        mediaType: 'application/json',
        cacheControl: CACHE_ASKING,
        coded: true,
        find: (coding) => profiles.find(snapshot, form, 'report', coding),
      });
    },
  };
}
