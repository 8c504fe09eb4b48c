import type { RegistryKey } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { docsPath } from '../addresses.js';
import { CopySnippet } from '../parts/copy-snippet.js';
import { Digest } from '../parts/digest.js';
import { Label } from '../parts/label.js';
import { RegistryAddress } from '../parts/registry-address.js';
import { Time } from '../parts/time.js';
import { useSite } from '../site.js';

/** The public keys that sign the snapshots of this registry. `signing` is the fingerprint of the one that signs now. */
export function KeysPage({ keys, signing }: { keys: readonly RegistryKey[]; signing: string }) {
  const { at } = useSite();
  return (
    <>
      <h1>Keys of this registry</h1>
      <p class="lead">
        This registry signs each snapshot of its catalogs. Pin the key once, and krmhub rejects every snapshot
        that it did not sign. Programs read <a href={at(fillPath('registryKeys', {}))}>the keys as JSON</a>,
        or <a href={at(fillPath('registryKey', {}))}>the current key as a file</a>.
      </p>
      <p>
        Compare the fingerprint with the one from the operator of the registry. A page that an attacker
        changed would show another key: see <a href={at(docsPath('trust'))}>what to trust</a>.
      </p>
      {keys.map(({ fingerprint, publicKey, validFrom, validUntil }) => (
        <section aria-labelledby={fingerprint}>
          <h2 id={fingerprint}>
            <Digest value={fingerprint} isShort />{' '}
            {fingerprint === signing ? <Label tone="good">signs now</Label> : null}
          </h2>
          <p>
            <Digest value={fingerprint} />
          </p>
          <p>
            Valid from <Time at={validFrom} />
            {validUntil === undefined ? null : (
              <>
                {' until '}
                <Time at={validUntil} />; its earlier signatures stay valid
              </>
            )}
            .
          </p>
          <CopySnippet label="Public key" caption="Save it as registry.pub:" code={publicKey.trimEnd()} />
        </section>
      ))}
      <CopySnippet
        label="Pin the key"
        caption="Then pin it for a catalog:"
        code={
          <>
            krmhub trust add <RegistryAddress />
            /catalogs/default --key registry.pub
          </>
        }
      />
    </>
  );
}
