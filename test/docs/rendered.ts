import { messageText } from '../../sinks/stdout/index.ts'
import { createDryRun, type DryRun, type Sent } from '../../src/cli/dry-run/dry-run.ts'
import { runTest } from '../../src/cli/dry-run/run-test.ts'
import { findTests } from '../../src/cli/dry-run/test-files.ts'
import { readDryConfiguration } from '../../src/cli/load-config/configuration.ts'

/**
 * Returns what the sinks get in the tests of a configuration: for each message the sink with its target, the text as chats show
 * it, and the body if the sink sends one, as indented JSON.
 */
export async function renderedMessages(file: string): Promise<string> {
  const configuration = await readDryConfiguration(file)
  const { cases } = findTests([], configuration)
  const texts: string[] = []
  for (const test of cases) {
    const createRun = async () => recording(await createDryRun(configuration), texts)
    const { problems } = await runTest(test, {
      createRun,
      cluster: configuration.config.cluster ?? 'kubernetes',
      readFile: (name) => ({ fault: `${name} is not read` }),
    })
    if (problems.length > 0) throw new Error(problems[0]?.message)
  }
  return texts.join('\n')
}

/** The run, which also adds the texts of what it sends. */
function recording(run: DryRun, texts: string[]): DryRun {
  const add = (sent: readonly Sent[]) => texts.push(...sent.map((it) => textOf(run, it)))
  return {
    ...run,
    evaluate(event, atMs) {
      const result = run.evaluate(event, atMs)
      add(result.sent)
      return result
    },
    advance(toMs) {
      const timers = run.advance(toMs)
      for (const { sent } of timers) add(sent)
      return timers
    },
  }
}

function textOf({ snapshot }: DryRun, { delivery, message }: Sent): string {
  const { target = '', body = '' } = snapshot.choices.preview(message, delivery.sink)
  return `→ ${delivery.sink} ${target}\n${messageText(message)}${indented(body)}`
}

function indented(body: string): string {
  return body
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.startsWith('{') || line.startsWith('[') ? JSON.stringify(JSON.parse(line), undefined, 1) : line,
    )
    .join('\n')
}
