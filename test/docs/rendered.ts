import { messageText } from '../../sinks/stdout/index.ts'
import { createDryRun, type DryRun, type Sent } from '../../src/cli/dry-run/dry-run.ts'
import { runTest } from '../../src/cli/dry-run/run-test.ts'
import { findTests, type TestCase } from '../../src/cli/dry-run/test-files.ts'
import { type DryConfiguration, readDryConfiguration } from '../../src/cli/load-config/configuration.ts'

/**
 * Returns what the sinks get in the tests of a configuration: for each message the sink with its target, the text as chats show
 * it, and the body if the sink sends one, as indented JSON.
 */
export async function renderedMessages(file: string): Promise<string> {
  const configuration = await readDryConfiguration(file)
  const texts: string[] = []
  for (const test of findTests([], configuration).cases) {
    const { run, sent } = await sentInTest(test, configuration)
    texts.push(...sent.map((it) => textOf(run, it)))
  }
  return texts.join('\n')
}

/** Runs a test of a configuration. Returns its run and all that is sent. Throws if an expectation is not met. */
export async function sentInTest(
  test: TestCase,
  configuration: DryConfiguration,
): Promise<{ run: DryRun; sent: Sent[] }> {
  const run = await createDryRun(configuration)
  const sent: Sent[] = []
  const { problems, mismatches } = await runTest(test, {
    createRun: async () => recording(run, sent),
    cluster: configuration.config.cluster ?? 'kubernetes',
    readFile: (name) => ({ fault: `${name} is not read` }),
  })
  if (problems.length > 0) throw new Error(problems[0]?.message)
  if (mismatches.length > 0) throw new Error(`${test.name}: ${JSON.stringify(mismatches[0])}`)
  return { run, sent }
}

/** The run, which also adds what it sends. */
function recording(run: DryRun, sent: Sent[]): DryRun {
  return {
    ...run,
    evaluate(event, atMs) {
      const result = run.evaluate(event, atMs)
      sent.push(...result.sent)
      return result
    },
    advance(toMs) {
      const timers = run.advance(toMs)
      sent.push(...timers.flatMap((it) => it.sent))
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
