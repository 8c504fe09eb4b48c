import { describeSigner, type ReleaseBundle, type Signer } from '@krmhub/catalog';
import type { FunctionName } from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Label, type Tone } from '../parts/label.js';
import { Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import type { FunctionView } from './read-function.js';
import { Commands, useAddresses } from './registry-commands.js';
import { type SignatureState, verifyOptions } from './signature-states.js';

/** Shows who signed the release, as far as the registry knows, and how to verify that. */
export function SignatureSection({ view: { name, known } }: { view: FunctionView }) {
  return (
    <section aria-labelledby="signatures">
      <h2 id="signatures">Signatures</h2>
      {known === undefined ? (
        <p>
          Signatures belong to releases, and this registry has no release of it. The recipe of a catalog says
          which signatures it requires.
        </p>
      ) : (
        <Signatures
          states={known.signatures}
          attestations={(known.release.bundles ?? []).filter(({ claim }) => claim === 'attestation')}
          name={{ ...name, release: known.release.release }}
        />
      )}
    </section>
  );
}

function Signatures({
  states,
  attestations,
  name,
}: {
  states: readonly SignatureState[];
  attestations: readonly ReleaseBundle[];
  name: FunctionName & { release: string };
}) {
  const signers = states.flatMap((one) => ('signer' in one ? [one.signer] : []));
  const isSigned = states.some(({ state }) => state !== 'unsigned' && state !== 'unsupported');
  const { reference } = useAddresses(name);
  const options = new Set((signers.length > 0 ? signers : [undefined]).map(verifyOptions));
  return (
    <>
      <ul class="signatures">
        {states.map((state) => (
          <li>
            <State state={state} />
          </li>
        ))}
        {attestations.map(({ predicateType, signer, receivedAt, digest }) => (
          <li>
            <p>
              <Label>attestation</Label> <Text value={predicateType} max={300} />, by{' '}
              {signer === undefined ? 'an unknown key' : <SignerName signer={signer} />}, received{' '}
              <Time at={receivedAt} />. Bundle <Digest value={digest} isShort />.
            </p>
          </li>
        ))}
      </ul>
      {isSigned ? (
        <p class="quiet">
          A signature says where a release comes from, not whether its behavior is safe. This is what the
          registry verified. Verify it yourself:
        </p>
      ) : reference === undefined ? null : (
        <p class="quiet">Verify it yourself:</p>
      )}
      {reference === undefined ? null : (
        <Commands
          label="Verify the signature"
          lines={[...options].map((option) => (
            <>
              krmhub verify {reference}
              {option}
            </>
          ))}
        />
      )}
      {signers.some(({ type }) => type === 'key') ? (
        <p class="quiet">
          <code>KEY.pub</code> is the public key with the fingerprint above. Get it from a source you trust.
        </p>
      ) : null}
    </>
  );
}

function State({ state }: { state: SignatureState }) {
  switch (state.state) {
    case 'unsigned':
      return (
        <StateText tone="plain" label="unsigned">
          This release is not signed{state.wanted === undefined ? '' : ', and '}
          {state.wanted === undefined ? null : (
            <>
              the policy <Text value={state.wanted} /> of this registry requires a signature
            </>
          )}
          .
        </StateText>
      );
    case 'unchecked':
      return (
        <StateText tone="plain" label="signature present, not checked">
          Signed with a key that this registry does not know, received{' '}
          <Time at={state.bundle.receivedAt} isPrecise />. Bundle{' '}
          <Digest value={state.bundle.digest} isShort />.
        </StateText>
      );
    case 'verified':
      return (
        <StateText
          tone={state.policy === undefined ? 'plain' : 'good'}
          label={
            <>
              verified at <Time at={state.at} isPrecise />
            </>
          }
        >
          {state.policy === undefined ? (
            'The signature is valid. No policy of this registry covers the signer.'
          ) : (
            <>
              By the policy <Text value={state.policy} /> of this registry.
            </>
          )}
          <Facts signer={state.signer} bundle={state.bundle} />
        </StateText>
      );
    case 'failed':
      return (
        <StateText tone="danger" label="verification failed">
          <Text value={state.reason} max={1_000} />.
          <Facts signer={state.signer} bundle={state.bundle} />
        </StateText>
      );
    case 'unsupported':
      return (
        <StateText tone="plain" label="kind unsupported">
          The release also has <Text value={state.type} max={200} />, which this registry does not read:{' '}
          <Digest value={state.digest} />.
        </StateText>
      );
  }
}

function StateText({ tone, label, children }: { tone: Tone; label: Child; children?: Child }) {
  return (
    <>
      <p>
        <Label tone={tone}>{label}</Label>
      </p>
      <div class="signature-words">{children}</div>
    </>
  );
}

function Facts({ signer, bundle }: { signer: Signer; bundle: ReleaseBundle }) {
  const isKey = signer.type === 'key';
  return (
    <DefinitionList
      items={[
        [
          isKey ? 'Key' : 'Identity',
          isKey ? <Digest value={signer.fingerprint} /> : <Text value={signer.subject} max={500} />,
        ],
        ['Issuer', isKey ? undefined : <Text value={signer.issuer} max={500} />],
        ['Signed', bundle.signedAt === undefined ? undefined : <Time at={bundle.signedAt} isPrecise />],
        ['Bundle', <Digest value={bundle.digest} />],
      ]}
    />
  );
}

function SignerName({ signer }: { signer: Signer }) {
  return <Text value={describeSigner(signer)} max={300} />;
}
