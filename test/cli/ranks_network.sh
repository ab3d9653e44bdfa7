#!/bin/bash
# ranks_network.sh ATTEND PLUGIN: ranks on two machines, which are network namespaces with a link between them: the same bytes as alone, also over a
# slow link; a link that is cut. Needs root, mpirun, ip, tc and unshare; exits with 77 where one is missing.
skip() {
    echo "skipped: $*"
    exit 77
}
[ -e "$2" ] && command -v mpirun >/dev/null || skip 'mpirun (openmpi-bin) or the plug-in attend-mpi.so is missing'
[ "$(id -u)" = 0 ] && command -v ip >/dev/null && command -v unshare >/dev/null || skip 'root, ip (iproute2) and unshare are needed'
. "$(dirname "$0")/cases.sh"
export ATTEND_MPI=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
cd "$folder" || exit 1

# ---- two machines ----

# 169.254.x.y: a network of this test alone
other=attend$$ link=at$$ net=169.254.$(($$ % 250 + 1))
ip netns add "$other" 2>/dev/null || skip 'network namespaces are not permitted here'
end() {
    ip link del "${link}a" 2>/dev/null
    ip netns pids "$other" | xargs -r kill -9 2>/dev/null
    ip netns del "$other"
    chmod -R u+w "$folder" 2>/dev/null
    rm -rf "$folder"
}
trap end EXIT
ip link add "${link}a" type veth peer name "${link}b" netns "$other" 2>/dev/null || skip 'links between network namespaces are not permitted here'
ip addr add "$net.1/24" dev "${link}a" && ip link set "${link}a" up
ip netns exec "$other" ip addr add "$net.2/24" dev "${link}b"
ip netns exec "$other" ip link set "${link}b" up
ip netns exec "$other" ip link set lo up

# In place of ssh: HOST COMMAND...
cat >agent <<END
#!/bin/sh
shift
exec ip netns exec $other unshare -u sh -c "hostname other-machine; \$*"
END
chmod +x agent
two_machines() { # ARGUMENTS...: what attend prints in the file `printed`
    timeout 120 mpirun --mca plm_rsh_agent "$folder/agent" --host "$net.1:1,$net.2:1" --mca btl tcp,self --mca btl_tcp_if_include "$net.0/24" \
        --mca oob_tcp_if_include "$net.0/24" "$attend" "$@" >printed 2>&1
}

awk 'BEGIN { srand(1); for (i = 0; i < 1200; i++) { s = ""; t = ""; n = 2 + int(rand() * 6);
    for (j = 0; j < n; j++) { w = substr("abcdefgh", 1 + int(rand() * 8), 1); s = s (j ? " " : "") w; t = w (j ? " " : "") t }
    print s "\t" t } }' >pairs.tsv
head -100 pairs.tsv >valid.tsv
options="--train pairs.tsv --valid valid.tsv --hidden 32 --embedding 16 --tokens bpe --vocab-size 300 --dropout 0.2 --batch-tokens 1300 --average 0.99 --threads 1
    --patience 0 --no-check --rank-timeout 2 --valid-every 20 --save-every 10 --log-every 10"
same_training() { # DESCRIPTION REFERENCE OTHER
    for suffix in '' .checkpoint; do cmp -s "$2$suffix" "$3$suffix" || fail "$1: $2$suffix and $3$suffix differ"; done
}

"$attend" train $options --updates 40 --model alone --quiet || fail 'attend does not train'
two_machines train $options --updates 40 --model two || fail "two machines: $(tail -5 printed)"
grep -q '^ranks       2 on 2 machines' printed || fail "the machines are not counted: $(cat printed)"
same_training 'two machines' alone two
rm -f two two.*

"$attend" translate --model alone --input <(cut -f 1 valid.tsv) >expected 2>/dev/null
cut -f 1 valid.tsv >lines
two_machines translate --model alone --input lines --output translated --quiet || fail "translating on two machines: $(tail -5 printed)"
cmp -s expected translated || fail 'translating on two machines gives other lines'

# ---- slow and bad links ----

shape() { # tc arguments: of both directions
    tc qdisc replace dev "${link}a" root "$@" 2>/dev/null && ip netns exec "$other" tc qdisc replace dev "${link}b" root "$@" 2>/dev/null
}
for how in 'tbf rate 50mbit burst 32kb latency 400ms' 'netem delay 5ms 2ms' 'netem loss 2% delay 1ms'; do
    shape $how || {
        echo "not tried: the kernel has no $how"
        continue
    }
    two_machines train $options --updates 5 --model two || fail "a link with $how: $(tail -5 printed)"
    "$attend" train $options --updates 5 --model ten --fresh --quiet
    same_training "a link with $how" ten two
    rm -f two two.* ten ten.*
done
# A message that takes longer than the time-out is not silence
large="--hidden 256 --embedding 128 --average 0"
if shape tbf rate 10mbit burst 32kb latency 400ms; then
    two_machines train $options $large --updates 1 --model two || fail "messages of several seconds: $(grep attend printed)"
    "$attend" train $options $large --updates 1 --model ten --fresh --quiet
    same_training 'messages of several seconds' ten two
    rm -f two two.* ten ten.*
fi
shape pfifo limit 1000

# ---- a link that is cut ----

"$attend" train $options --updates 400 --model long --quiet || failed=1
two_machines train $options --updates 400 --keep 1 --model two &
job=$!
for _ in $(seq 300); do
    ls two.update-* >/dev/null 2>&1 && break
    sleep 0.05
done
running() { # the processes of the ranks, on both machines
    for process in $(pgrep -f -- "$attend train .*--updates 400 --keep 1 --model two") $(ip netns pids "$other"); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "${attend##*/}" ] && [ "$(readlink "/proc/$process/cwd")" = "$folder" ] && echo "$process"
    done
}
[ "$(running | sort -u | wc -l)" = 2 ] || fail "these ranks run: $(running)"
ip link set "${link}a" down
began=$(date +%s%N)
while [ -n "$(running)" ] && [ $(($(date +%s%N) - began)) -lt 20000000000 ]; do sleep 0.1; done
took=$((($(date +%s%N) - began) / 1000000))
echo "the link is cut: both ranks have ended after $took ms"
[ $took -lt 8000 ] || fail "a link that is cut is noticed after $took ms"
# mpirun waits for its daemon on the other machine, which it cannot reach
pkill -KILL -P "$(pgrep -P $job timeout)" mpirun
wait $job && fail 'a job whose link is cut succeeds'
grep -q 'rank 1 on other-machine: ' printed || fail "the rank behind the link is not named: $(cat printed)"
ip link set "${link}a" up
sleep 0.5
rm -f .*.tmp
"$attend" train $options --updates 400 --keep 1 --model two --quiet || fail 'training does not resume'
cmp -s long two || fail 'after a link was cut, training resumes to another model'
exit $failed
