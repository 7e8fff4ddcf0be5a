//! `narrows mesh --k8s IMAGE`: what makes Kubernetes run an agent on every node, or with
//! `--k8s-nodes` on some for an hour. Nothing is measured, and no cluster is asked.
//!
//! The text is JSON, which kubectl takes as it takes YAML. It holds no key: a secret that the user
//! makes does, so that no key lies in a file of manifests and is used again unseen.

use crate::args::MeshArgs;
use crate::failure::Failure;
use crate::output;
use narrows_control::wire;
use serde_json::{Value, json};

/// Name of the set of agents, and their label.
const AGENT: &str = "narrows-agent";
/// Name of the secret, and of the file that it is made from.
const SECRET: &str = "narrows-key";
/// Who the agent is on the node: nobody else's number, so that no other process of its user is
/// there to read what it holds.
const USER: u32 = 747_174;

/// When a Job of agents is ended, whoever forgot it.
const JOB_SECONDS: u32 = 3600;
/// How long a Job that is over stays to be looked at.
const JOB_KEPT_SECONDS: u32 = 600;

/// Prints it, and on standard error what to do with it.
pub fn print(image: &str, args: &MeshArgs) -> Result<u8, Failure> {
    let port = args.port.unwrap_or(wire::PORT);
    let peers = args.peers.join(",");
    let (kind, agents) = match args.k8s_nodes {
        Some(nodes) => ("job", job(image, port, &peers, nodes)),
        None => ("daemonset", agents(image, port, &peers)),
    };
    let text = serde_json::to_string_pretty(&agents);
    output::print(&format!("{}\n", text.unwrap_or_default()))?;
    // A note is one line.
    next(port, kind).lines().for_each(|line| note!("{line}"));
    Ok(0)
}

/// A DaemonSet of agents without a right but to their port, on the network of their node.
fn agents(image: &str, port: u16, peers: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": { "name": AGENT, "labels": { "app": AGENT } },
        "spec": {
            "selector": { "matchLabels": { "app": AGENT } },
            "template": {
                "metadata": { "labels": { "app": AGENT } },
                "spec": pod(image, port, peers),
            },
        },
    })
}

/// The same on so many nodes, one each, for as long as a mesh may take: where not every node is to
/// have an agent, or a queue admits jobs alone. Nobody has to take them away.
///
/// A limit of the whole Job would have Kubernetes end all agents for the first that fails. The one
/// of each index, which it has from 1.29 on without being asked to (1.28 behind a gate), costs a
/// failed agent its own host alone.
fn job(image: &str, port: u16, peers: &str, nodes: u32) -> Value {
    let mut pod = pod(image, port, peers);
    // An agent that ended is not begun again: its host would be another one's in a mesh.
    pod["restartPolicy"] = json!("Never");
    pod["affinity"] = json!({
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": { "matchLabels": { "app": AGENT } },
                "topologyKey": "kubernetes.io/hostname",
            }],
        },
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": AGENT, "labels": { "app": AGENT } },
        "spec": {
            "parallelism": nodes,
            "completions": nodes,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 0,
            "maxFailedIndexes": nodes,
            "activeDeadlineSeconds": JOB_SECONDS,
            "ttlSecondsAfterFinished": JOB_KEPT_SECONDS,
            "template": { "metadata": { "labels": { "app": AGENT } }, "spec": pod },
        },
    })
}

fn pod(image: &str, port: u16, peers: &str) -> Value {
    json!({
        // That of the pods is another path, with an MTU and an encapsulation of its own.
        "hostNetwork": true,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": 10,
        // None: nodes that keep others away, such as those of the control plane, have no agent.
        "tolerations": [],
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "containers": [{
            "name": "agent",
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "args": ["serve", "--port", port.to_string(), "--peers", peers],
            // As a file it would belong to root, and to be read by this user be open to its group.
            "env": [{
                "name": "NARROWS_KEY",
                "valueFrom": { "secretKeyRef": { "name": SECRET, "key": SECRET } },
            }],
            "ports": [{ "name": "control", "containerPort": port, "hostPort": port }],
            // No limit of CPU time: its quota would be measured in place of the network.
            "resources": {
                "requests": { "cpu": "100m", "memory": "64Mi" },
                "limits": { "memory": "4Gi" },
            },
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": { "drop": ["ALL"] },
                "privileged": false,
                "readOnlyRootFilesystem": true,
            },
        }],
    })
}

/// What a user does with it.
fn next(port: u16, kind: &str) -> String {
    let at = if port == wire::PORT { String::new() } else { format!(" -p {port}") };
    let hosts =
        format!("$(kubectl get pods -l app={AGENT} -o jsonpath='{{.items[*].status.hostIP}}')");
    format!(
        "Next, with this text in agents.json; the key stays in the file {SECRET} and in the secret:\n\n    \
         (umask 077; head -c32 /dev/urandom | od -An -tx1 | tr -d ' \\n' >{SECRET})\n    \
         kubectl create secret generic {SECRET} --from-file={SECRET}\n    \
         kubectl apply -f agents.json\n    \
         narrows mesh {hosts}{at} --key-file {SECRET}\n    \
         kubectl delete {kind}/{AGENT} secret/{SECRET} && rm {SECRET}\n\n\
         Pods on the network of their nodes need a namespace of the pod security level 'privileged'."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_no_right_but_to_their_port_and_no_key_is_in_the_text() {
        let all = agents("registry.example/narrows:0.1.0", 7500, "10.0.0.0/16,10.1.0.7");
        // What kubectl reads, and not what was meant.
        let all: Value = serde_json::from_str(&all.to_string()).expect("JSON");
        assert_eq!((&all["apiVersion"], &all["kind"]), (&json!("apps/v1"), &json!("DaemonSet")));
        let template = &all["spec"]["template"];
        assert_eq!(all["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]);
        let pod = &template["spec"];
        assert_eq!((&pod["hostNetwork"], &pod["tolerations"]), (&json!(true), &json!([])));
        assert_eq!(pod["automountServiceAccountToken"], json!(false));
        assert_eq!(pod["securityContext"]["runAsNonRoot"], json!(true));
        for other in ["hostPID", "hostIPC", "serviceAccountName", "volumes", "initContainers"] {
            assert!(pod.get(other).is_none(), "{other}");
        }
        let agent = &pod["containers"][0];
        assert_eq!(agent["image"], "registry.example/narrows:0.1.0");
        let words = ["serve", "--port", "7500", "--peers", "10.0.0.0/16,10.1.0.7"];
        assert_eq!(agent["args"], json!(words));
        assert_eq!(agent["ports"][0]["containerPort"], agent["ports"][0]["hostPort"]);
        let secret = json!({ "secretKeyRef": { "name": SECRET, "key": SECRET } });
        assert_eq!(agent["env"], json!([{ "name": "NARROWS_KEY", "valueFrom": secret }]));
        let held = json!({
            "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] },
            "privileged": false, "readOnlyRootFilesystem": true,
        });
        assert_eq!(agent["securityContext"], held);
        assert!(agent["resources"]["limits"].get("cpu").is_none());
    }

    #[test]
    fn a_user_is_told_each_command_from_the_key_to_the_end() {
        let told = next(7500, "daemonset");
        for words in [
            "kubectl create secret generic narrows-key --from-file=narrows-key\n",
            "kubectl apply -f agents.json\n",
            "jsonpath='{.items[*].status.hostIP}') -p 7500 --key-file narrows-key\n",
            "kubectl delete daemonset/narrows-agent secret/narrows-key && rm narrows-key\n",
            "tr -d ' \\n' >narrows-key)",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(!next(wire::PORT, "daemonset").contains(" -p "));
        let of_job = "kubectl delete job/narrows-agent secret/narrows-key && rm narrows-key\n";
        assert!(next(7500, "job").contains(of_job));
    }

    #[test]
    fn a_job_has_one_agent_a_node_and_ends_by_itself() {
        let all = job("registry.example/narrows:0.1.0", 7500, "10.0.0.0/16", 12);
        assert_eq!((&all["apiVersion"], &all["kind"]), (&json!("batch/v1"), &json!("Job")));
        let spec = &all["spec"];
        assert_eq!((&spec["parallelism"], &spec["completions"]), (&json!(12), &json!(12)));
        assert_eq!(spec["activeDeadlineSeconds"], json!(3600));
        // One that fails is not begun again, and ends no other: not even where all but one fail.
        let limits = ["completionMode", "backoffLimitPerIndex", "maxFailedIndexes"];
        assert_eq!(limits.map(|name| &spec[name]), [&json!("Indexed"), &json!(0), &json!(12)]);
        assert!(spec.get("backoffLimit").is_none(), "that of the whole Job");
        let mut own = spec["template"]["spec"].clone();
        let apart = &own["affinity"]["podAntiAffinity"];
        let apart = &apart["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(apart["topologyKey"], "kubernetes.io/hostname");
        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(&apart["labelSelector"]["matchLabels"], labels);
        assert_eq!(own["restartPolicy"], "Never");
        // In all else they are the agents of every node.
        let fields = own.as_object_mut().expect("an object");
        fields.retain(|name, _| !["affinity", "restartPolicy"].contains(&name.as_str()));
        let of_all = agents("registry.example/narrows:0.1.0", 7500, "10.0.0.0/16");
        assert_eq!(own, of_all["spec"]["template"]["spec"]);
    }
}
