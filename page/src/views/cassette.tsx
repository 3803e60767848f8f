/** What models said in a test: the generations of a cassette. */

import { useLoaded } from '../data';
import { formatCount, formatInteger } from '../format';
import { useFirst } from '../parts/more';
import { Fact, Waiting } from '../parts/states';
import { Copy, Text } from '../parts/text';
import { client } from '../store';

interface Generation {
  model: string;
  prompt: string;
  promptTokens: number;
  maxTokens: number | null;
  /** Null if only the prompt's tokens were asked for, or the model failed. */
  output: {
    text: string;
    tokens: number;
    forcedTokens: number;
    isComplete: boolean;
    margin: { gap: number; tokenIndex: number; chosen: string; other: string } | null;
  } | null;
}

interface Cassette {
  test: string;
  tool: string;
  models: { name: string; digest: string }[];
  generations: Generation[];
}

export function CassetteView() {
  const loaded = useLoaded('cassette', () => client.request<Cassette>('recorded_generations'));
  if (!loaded.data) return <Waiting loaded={loaded} what="the cassette" />;
  return <Generations cassette={loaded.data} />;
}

function Generations({ cassette }: { cassette: Cassette }) {
  const { test, tool, models, generations } = cassette;
  const [shown, more] = useFirst(generations, 'generations');
  const read = generations.reduce((sum, each) => sum + each.promptTokens, 0);
  const written = generations.reduce((sum, each) => sum + (each.output?.tokens ?? 0), 0);
  return (
    <>
      <header class="title">
        <h1>
          <Text text={test || 'Cassette'} />
        </h1>
      </header>
      <dl class="facts-grid">
        <Fact label="recorded by">
          <Text text={tool} />
        </Fact>
        {models.map((model) => (
          <Fact key={model.name} label="model">
            <span title={model.digest}>
              <Text text={model.name} />
            </span>{' '}
            <Copy text={model.digest} label="Copy the model’s digest" />
          </Fact>
        ))}
        <Fact label="tokens">
          <span class="mono">{formatInteger(read)}</span> read, <span class="mono">{formatInteger(written)}</span>{' '}
          written
        </Fact>
      </dl>
      <section aria-labelledby="generations">
        <h2 id="generations">
          Generations <span class="dim">{formatInteger(generations.length)}</span>
        </h2>
        <ol class="tree">
          {shown.map((generation, index) => (
            <GenerationItem key={index} number={index + 1} generation={generation} />
          ))}
          {more && <li>{more}</li>}
        </ol>
      </section>
    </>
  );
}

function GenerationItem({ number, generation }: { number: number; generation: Generation }) {
  const { output, prompt, promptTokens, maxTokens, model } = generation;
  return (
    <li class="step">
      <div class="line" data-stop tabIndex={-1}>
        <span class="what">
          <span class="tag number">{number}</span>
          <span class="dim">
            <Text text={model} />
          </span>
        </span>
      </div>
      {output === null ? (
        <p class="dim">No output: only the prompt’s tokens were asked for, or the model failed.</p>
      ) : (
        <pre class="output" tabIndex={0} aria-label={`Output of generation ${number}`}>
          <Text text={output.text} block />
        </pre>
      )}
      <p class="facts">
        <span>
          read <span class="mono">{formatInteger(promptTokens)}</span>
          {output && (
            <>
              , wrote <span class="mono">{formatInteger(output.tokens)}</span>, forced{' '}
              <span class="mono">{formatInteger(output.forcedTokens)}</span>
            </>
          )}
        </span>
        {maxTokens !== null && <span>at most {formatCount(maxTokens, 'token')}</span>}
        {output && !output.isComplete && <span class="failed">cut at this limit</span>}
        {output?.margin && (
          <span title="Difference of the log-probabilities of the chosen token and the next best one">
            margin <span class="mono">{output.margin.gap.toFixed(2)}</span> at token {output.margin.tokenIndex}: “
            <Text text={output.margin.chosen} />” before “<Text text={output.margin.other} />”
          </span>
        )}
      </p>
      <details class="prompt">
        <summary data-stop>Prompt</summary>
        <pre tabIndex={0} aria-label={`Prompt of generation ${number}`}>
          <Text text={prompt} block />
        </pre>
      </details>
    </li>
  );
}
