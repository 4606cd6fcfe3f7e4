// Loads each configuration of a folder as the program would, and prints what came of it: plug-ins are Node's to load.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { TemplateFault } from '../../src/sink/index.ts'
import { builtInSinks } from '../../src/sink-types.ts'

const [folder = '.', pluginsOff] = process.argv.slice(2)
const results: Record<string, unknown> = {}
for (const name of readdirSync(folder).filter((it) => it.endsWith('.yaml'))) {
  const file = join(folder, name)
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const source = { file, text: readFile(file), env: { TOKEN: 'hunter2-secret' }, readFile }
  const loaded = await loadConfig({ ...source, sinkTypes: builtInSinks, pluginsOff })
  results[name.slice(0, -'.yaml'.length)] = loaded.ok
    ? {
        sinks: loaded.config.sinks,
        types: Object.keys(loaded.sinkTypes),
        sameContract: Object.values(loaded.sinkTypes).every(
          (it) => (it as { TemplateFault?: unknown }).TemplateFault === TemplateFault,
        ),
      }
    : { problems: loaded.problems.map((it) => `${it.line}:${it.column} ${it.message} = ${it.hint}`) }
}
process.stdout.write(JSON.stringify(results))
