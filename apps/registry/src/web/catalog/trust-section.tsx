import { fillPath } from '@krmhub/api/paths';
import type { SnapshotRecord } from '@krmhub/catalog';
import { KEYS } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Label } from '../parts/label.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';
import type { SigningView } from './read-catalog.js';

/** Shows which key signed the snapshot, and how a user who has that key verifies it. */
export function TrustSection({ snapshot, signing }: { snapshot: SnapshotRecord; signing: SigningView }) {
  const { at } = useSite();
  const { catalog, serial, digests } = snapshot;
  const { signature, keys } = signing;
  const isPublished = keys.some(({ fingerprint }) => fingerprint === signature?.key);
  return (
    <section aria-labelledby="trust">
      <h2 id="trust">Trust</h2>
      {signature === undefined ? (
        <p>
          <Label>unsigned</Label> Snapshot {serial} was built by a version of krmhub that did not sign
          snapshots.
        </p>
      ) : (
        <>
          <p>
            This registry signed snapshot {serial} as the newest snapshot. The signature says who built the
            catalog, not whether its functions are safe.
          </p>
          <DefinitionList
            items={[
              ['Digest of catalog.yaml', <Digest value={digests['catalog.yaml']} />],
              [
                'Signed by the key',
                <>
                  <Digest value={signature.key} />{' '}
                  {isPublished ? null : <Label tone="warning">not a published key</Label>}
                </>,
              ],
              ['Signed', <Time at={signature.signedAt} />],
              ['Signature expires', <Time at={signature.expiresAt} />],
              [
                'Bundle',
                <a href={at(fillPath('catalogBundle', { name: catalog }))}>snapshot.sigstore.json</a>,
              ],
              ['Keys of this registry', <a href={at(KEYS)}>fingerprints and public keys</a>],
            ]}
          />
          <CopySnippet
            label="Verify the catalog"
            caption="Verify it yourself. The first command shows the fingerprint of the key, and asks: compare it with the one from the operator of the registry, not from this page."
            code={
              <>
                {'krmhub trust add '}
                <RegistryAddress />
                {`/catalogs/${catalog}\n`}
                {'krmhub catalog verify '}
                <RegistryAddress />
                {`/catalogs/${catalog} --out ${catalog}`}
              </>
            }
          />
        </>
      )}
    </section>
  );
}
