import { DefaultReporter, type TestCase, type TestModule } from 'vitest/node'

const SLOWEST = 10
/** Without a terminal, which shows a live count, print a progress line after this many test files. */
const FILES_PER_LINE = 25

/** Test reporter that prints failures, progress, the slowest files and totals, but no line per passed file. */
export default class Reporter extends DefaultReporter {
  #seconds = new Map<string, number>()
  #tests = 0
  /** Skipped tests by their reason, which names what this machine lacks. */
  #skipped = new Map<string, number>()
  /** Ids of the rules that failed tests hold. */
  #rules = new Set<string>()

  protected override printTestModule(module: TestModule): void {
    if (module.state() === 'failed') super.printTestModule(module)
  }

  protected override printTestCase(state: ReturnType<TestModule['state']>, test: TestCase): void {
    if (test.result().state === 'failed') super.printTestCase(state, test)
  }

  protected override printTestSuite(): void {}

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module)
    const { collectDuration, duration } = module.diagnostic()
    this.#seconds.set(`${module.relativeModuleId} (${module.project.name})`, (collectDuration + duration) / 1000)
    for (const test of module.children.allTests()) {
      this.#tests += 1
      const result = test.result()
      if (result.state === 'failed') for (const rule of test.tags) this.#rules.add(rule)
      if (result.state === 'skipped' && result.note !== undefined)
        this.#skipped.set(result.note, (this.#skipped.get(result.note) ?? 0) + 1)
    }
    const files = this.#seconds.size
    if (!this.isTTY && files % FILES_PER_LINE === 0) this.log(`${files} files, ${this.#tests} tests`)
  }

  override reportTestSummary(...summary: Parameters<DefaultReporter['reportTestSummary']>): void {
    const slowest = [...this.#seconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
    this.log('Slowest files:')
    for (const [file, seconds] of slowest) this.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
    for (const [reason, tests] of this.#skipped) this.log(`Skipped ${tests} tests: ${reason}`)
    super.reportTestSummary(...summary)
    for (const it of this.#rules) this.log(`Not held: rule ${it}. See \`npx voucherctl evidence ${it}\`.`)
  }
}
