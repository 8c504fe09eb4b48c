import {
  describeSigner,
  describeSource,
  IMPORTED,
  isSound,
  type ReleaseBundle,
  type Signer,
} from '@krmhub/catalog';
import type { FunctionName, SourceIdentity } from '@krmhub/schema';
import type { Child } from 'hono/jsx';
import { catalogPath } from '../addresses.js';
import { DefinitionList } from '../parts/definition-list.js';
import { Digest } from '../parts/digest.js';
import { Label, type Tone } from '../parts/label.js';
import { ExternalLink, Text } from '../parts/text.js';
import { Time } from '../parts/time.js';
import { sentence } from '../sentence.js';
import { useSite } from '../site.js';
import { PolicyLink } from './policy-link.js';
import type { FunctionView, KnownRelease } from './read-function.js';
import { Commands, useAddresses } from './registry-commands.js';
import { type SignatureState, signatureLabel, verifyOptions } from './signature-states.js';
import { TestReports } from './test-reports.js';

/** Shows who signed the release, as far as the registry knows, and how to verify that. */
export function SignatureSection({ view: { name, known, origins } }: { view: FunctionView }) {
  const { at } = useSite();
  return (
    <section aria-labelledby="signatures">
      <h2 id="signatures">Signatures</h2>
      {known === undefined ? (
        <>
          <p>
            Signatures belong to releases, and this registry has no release of this function. The recipe of a
            catalog says which signatures it requires.
          </p>
          {origins.length === 0 ? null : (
            <>
              <p>The upstream catalogs that have it:</p>
              <ul class="signatures">
                {origins.map(({ catalog, source, signers }) => (
                  <li>
                    <strong>{source}</strong> of <a href={at(`${catalogPath(catalog)}/trust`)}>{catalog}</a>:{' '}
                    {signers.length === 0 ? (
                      IMPORTED
                    ) : (
                      <Text value={`signed by ${signers.join(', ')}`} max={1_000} />
                    )}
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      ) : (
        <>
          <Signatures
            states={known.signatures}
            attestations={otherAttestations(known)}
            name={{ ...name, release: known.release.release }}
          />
          <TestReports reports={known.tests} />
        </>
      )}
    </section>
  );
}

/** Without the test reports, which have their own list. */
function otherAttestations({ release, tests }: KnownRelease): ReleaseBundle[] {
  const reports = new Set(tests.map(({ bundle }) => bundle));
  return (release.bundles ?? []).filter(
    ({ claim, digest }) => claim === 'attestation' && !reports.has(digest),
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
  const bundles = states.flatMap((one) => (one.state === 'judged' ? (one.bundle ?? []) : []));
  const signers = bundles.flatMap(({ signer }) => signer ?? []);
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
      {bundles.length > 0 ? (
        <p class="quiet">
          A signature says where a release comes from, not whether its behavior is safe. This is what the
          registry verified.
        </p>
      ) : null}
      {reference === undefined ? null : (
        <Commands
          label="Verify the signature"
          caption="Verify it yourself:"
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
  if (state.state === 'unsupported') {
    return (
      <StateText tone="plain" label="kind unsupported">
        The release also has <Text value={state.type} max={200} />, which this registry did not accept as a
        signature: <Digest value={state.digest} />.
      </StateText>
    );
  }
  const { verdict, bundle } = state;
  const { words, title, tone } = signatureLabel(verdict);
  return (
    <StateText tone={tone} label={words}>
      <Text value={sentence(title)} max={1_000} />
      {verdict.policy === undefined ? null : (
        <p>
          Signers: <PolicyLink name={verdict.policy} />
        </p>
      )}
      {bundle === undefined ? null : <Facts bundle={bundle} isTrusted={isSound(verdict)} />}
    </StateText>
  );
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

function Facts({
  bundle: { signer, signedAt, receivedAt, isWhole, digest },
  isTrusted,
}: {
  bundle: ReleaseBundle;
  isTrusted: boolean;
}) {
  return (
    <DefinitionList
      items={[
        ['Key', signer?.type === 'key' ? <Digest value={signer.fingerprint} /> : undefined],
        ['Identity', signer?.type === 'identity' ? <Text value={signer.subject} max={500} /> : undefined],
        ['Issuer', signer?.type === 'identity' ? <Text value={signer.issuer} max={500} /> : undefined],
        ...(signer?.type === 'identity' && isTrusted ? sourceFacts(signer.source) : []),
        ['Covers', isWhole === true ? 'the definition and the README' : 'only the definition'],
        ['Signed', signedAt === undefined ? undefined : <Time at={signedAt} />],
        // The signature was verified when it was received.
        [signer === undefined ? 'Received' : 'Checked', <Time at={receivedAt} />],
        ['Bundle', <Digest value={digest} />],
      ]}
    />
  );
}

/** What the certificate states: text of the CI provider. */
function sourceFacts(source: SourceIdentity | undefined): [string, Child][] {
  const text = describeSource(source);
  const fact = (value: string | undefined) => value && <Text value={value} max={500} />;
  const run = source?.runInvocationURI;
  return [
    ['Source', text && <Text value={sentence(text)} max={1_000} />],
    ['Repository ID', fact(source?.sourceRepositoryIdentifier)],
    ['Owner ID', fact(source?.sourceRepositoryOwnerIdentifier)],
    ['Trigger', fact(source?.buildTrigger)],
    ['Environment', fact(source?.deploymentEnvironment)],
    ['Run', run && <ExternalLink url={run} />],
  ];
}

function SignerName({ signer }: { signer: Signer }) {
  return <Text value={describeSigner(signer)} max={300} />;
}
