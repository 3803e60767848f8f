// A client of the control plane, from the types that openapi-typescript generates.
import createClient from "openapi-fetch";
import type { components, paths } from "./control_plane.js";

type Run = components["schemas"]["RunResult"];

/** Return one line about a run. */
function describe(run: Run): string {
  if (run.waitsForConfirmation) return `${run.runId} waits before ${run.phase}`;
  const dryRun = run.phases.find((each) => each.phase === "dry_run");
  const digest = dryRun?.result.digests.trace.slice(0, 2) ?? "none";
  const ended: boolean = run.status === "completed" || run.status === "failed";
  return `${run.runId} ${run.status} ${ended} ${run.taskStatus} ${digest} ${run.summary?.keyActions.length}`;
}

const [, , baseUrl, goal] = process.argv;
const client = createClient<paths>({ baseUrl });
const task = await client.POST("/tasks", { body: { goal: goal!, taskId: "typed" } });
if (task.error) throw new Error(task.error.error);
const started = await client.POST("/tasks/{task_id}/runs", {
  params: { path: { task_id: task.data.taskId }, query: { wait: true } },
  body: { runId: "typed-run" },
});
if (started.error) throw new Error(started.error.error);
console.log(describe(started.data));
const missing = await client.GET("/runs/{run_id}", { params: { path: { run_id: "none" } } });
console.log(missing.response.status, missing.error?.error.split(":")[0]);
const trust = await client.GET("/agents/{slug}/trust", { params: { path: { slug: task.data.agentSlug } } });
console.log(trust.data?.threshold.minScore, trust.data?.snapshot.hasIdentity);
